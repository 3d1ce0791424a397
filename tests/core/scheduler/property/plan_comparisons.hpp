// What holds between plans of one graph: invariants 12, 22, 24, 36 and 37 of the research report on schedulers.
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "backplane/scheduler/plan.hpp"

namespace backplane::testing {

struct PlanQuestion {
  std::vector<Device*> devices;
  PlanOptions options;
  Device* idle;                          // another device, which runs nothing
  std::shared_ptr<const Graph> renamed;  // the graph with other names
  bool compare_text;                     // the plans' JSON too: slow
};

// What mode cost is told: guesses, so that plans are the same on every machine.
std::vector<DeviceCosts> default_costs_of(const std::vector<Device*>& devices);

// Makes other plans for the graph of `plan`, which answers the question, and compares. Returns the first difference
// that must not be, or an empty text.
std::string compare_plans(const Plan& plan, const PlanQuestion& question);

}  // namespace backplane::testing
