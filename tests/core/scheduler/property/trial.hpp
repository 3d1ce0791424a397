// One trial of the properties: a generated graph, planned with random options and run on one world of devices.
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include "all_families.hpp"
#include "backplane/scheduler/plan.hpp"
#include "device_world.hpp"
#include "fake_runtime.hpp"
#include "oracle.hpp"

namespace backplane::testing {

// What a trial is made of: all that is needed to repeat it.
struct TrialCase {
  const GraphFamily* family;
  uint64_t seed;
  int size;

  std::string text() const;
  GeneratedGraph make() const { return family->make(seed, size); }
};

// The case that a number stands for: mostly random graphs, and small ones more often than large ones.
TrialCase make_case(uint64_t number);

class Trial {
 public:
  // Opens the devices of a world. `plans_only`: nothing is run.
  Trial(DeviceWorld world, bool plans_only);

  // Plans, checks the plan, compares it with others, runs it, and compares with the oracle and with what the devices
  // counted. Returns the first fault, or an empty text.
  std::string run(const TrialCase& trial);
  // Repeats a case that failed with ever larger graphs, from one node on. Describes the smallest that fails: seed,
  // world, graph.
  std::string describe_smallest(const TrialCase& trial);

 private:
  std::string check_plan(const TrialCase& trial, const GeneratedGraph& generated, const PlanOptions& options);
  std::string check_runs(const GeneratedGraph& generated, const PlanOptions& options);

  const DeviceWorld world_;
  const bool plans_only_;
  FakeRuntime runtime_;
  std::vector<Device*> devices_;  // but the idle one
  Device* idle_ = nullptr;
  Oracle oracle_;
};

}  // namespace backplane::testing
