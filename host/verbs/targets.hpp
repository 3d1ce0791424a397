// Targets: the devices that --device names and the nodes that --pin puts on them.
#pragma once

#include <vector>

#include "arguments.hpp"
#include "backplane/base/status.hpp"
#include "backplane/runtime/runtime.hpp"
#include "backplane/scheduler/plan.hpp"

namespace backplane::cli {

struct Targets {
  std::vector<Device*> devices;
  PlanOptions options;
};

// Errors: not_found for a device that is not there, or that a pin names but --device leaves out; no_devices.
Result<Targets> select_targets(const Runtime& runtime, const Arguments& arguments);

}  // namespace backplane::cli
