// Targets: the devices that --device names, and how the other options want the model planned for them.
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

// Errors: not_found for a device that is not there, or that an option names but --device leaves out; usage_error for an
// option of another form; no_devices; in mode cost, as calibrate() for a file that the user has named.
Result<Targets> select_targets(Runtime& runtime, const Arguments& arguments);

}  // namespace backplane::cli
