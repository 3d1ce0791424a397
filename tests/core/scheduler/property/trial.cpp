#include "trial.hpp"

#include <algorithm>
#include <random>

#include "backplane/base/text.hpp"
#include "fake_device.hpp"
#include "happens_before.hpp"
#include "plan_comparisons.hpp"
#include "plan_invariants.hpp"
#include "symbolic_run.hpp"

namespace backplane::testing {

namespace {

// Whether the writers of each storage have a device in common, and no pin takes one elsewhere. Without, a plan may be
// refused.
bool writers_meet(const Graph& graph, const std::vector<Device*>& devices, const PlanOptions& options) {
  std::vector<std::vector<bool>> meet(graph.storage_count(), std::vector<bool>(devices.size(), true));
  for (uint32_t device = 0; device < devices.size(); ++device) {
    const std::vector<NodeAnswer> answers = devices[device]->query(graph.abi()).value();
    const auto runs = [&](NodeId node) {
      for (const auto& [name, pinned] : options.pins)
        if (name == std::to_string(node)) return pinned == device;
      return answers[node].runs();
    };
    for (NodeId node = 0; node < graph.node_count(); ++node)
      for (const TensorId output : graph.node_outputs(node))
        if (output != kNone && !runs(node)) meet[graph.storage_of(output)][device] = false;
  }
  return std::ranges::all_of(meet, [](const std::vector<bool>& at) { return std::ranges::find(at, true) != at.end(); });
}

}  // namespace

std::string TrialCase::text() const { return cat("family ", family->name, ", seed ", seed, ", size ", size); }

TrialCase make_case(uint64_t number) {
  std::mt19937_64 random(number);
  const std::vector<GraphFamily>& families = all_families();
  const GraphFamily* family = &families[random() % 3 == 0 ? random() % families.size() : 0];
  return {family, number, static_cast<int>(1 + random() % (random() % 8 == 0 ? 40 : 14))};
}

PlanOptions make_plan_options(uint64_t seed, const Graph& graph, const std::vector<Device*>& devices) {
  std::mt19937_64 random(seed * 31 + 7);
  const auto chance = [&](uint64_t percent) { return random() % 100 < percent; };
  PlanOptions options;
  if (chance(50)) options.mode = PlacementMode::greedy;
  if (chance(30)) options.reorder_window = static_cast<uint32_t>(random() % 8);
  options.reuse_memory = !chance(10);
  options.pipelined = chance(20);
  options.soft_weights = chance(50);
  if (chance(20)) options.offload_ratio = random() % 4;
  if (chance(20)) options.staging_bytes = random() % 4096;
  if (chance(30)) options.weights_device = static_cast<uint32_t>(random() % devices.size());
  if (chance(30))
    for (uint32_t number = 0; number < devices.size(); ++number) {
      const std::vector<NodeAnswer> answers = devices[number]->query(graph.abi()).value();
      for (NodeId node = number; node < graph.node_count(); node += static_cast<uint32_t>(devices.size()))
        if (answers[node].runs() && chance(20)) options.pins.emplace_back(std::to_string(node), number);
    }
  return options;
}

std::string Trial::check_plan(const Plan& plan, const PlanOptions& options) {
  std::string fault = check_plan_invariants(plan, runtime_.devices(), options);
  if (fault.empty()) fault = check_symbolic_run(plan);
  if (fault.empty()) fault = check_happens_before(plan);
  return fault;
}

std::string Trial::run(const TrialCase& trial) {
  const GeneratedGraph generated = trial.family->make(trial.seed, trial.size);
  const std::vector<Device*> devices = runtime_.devices();
  const PlanOptions options = make_plan_options(trial.seed, *generated.graph, devices);
  const auto plan = make_plan(generated.graph, devices, options);
  if (plan.status().code() == Code::unimplemented && !writers_meet(*generated.graph, devices, options)) return "";
  if (!plan.ok()) return "planning: " + plan.status().to_string();
  std::string fault = check_plan(**plan, options);
  if (fault.empty()) fault = compare_plans(**plan, devices, options);
  if (fault.empty() && !plans_only_) fault = check_runs(generated, options);
  return fault;
}

std::string Trial::check_runs(const GeneratedGraph& generated, const PlanOptions& options) {
  std::string fault;
  const std::vector<Outputs> wanted = oracle_.two_runs(generated, fault);
  if (!fault.empty()) return fault;
  const std::vector<Device*> devices = runtime_.devices();
  {
    const auto session = Session::prepare(*runtime_, generated.graph, {}, options);
    if (!session.ok()) return "preparing: " + session.status().to_string();
    if (const Status status = set_inputs(**session, generated); !status.ok()) return status.to_string();
    for (const Outputs& outputs : wanted) {
      if (const Status status = (*session)->run(); !status.ok()) return "running: " + status.to_string();
      if (fault = compare_outputs(**session, outputs); !fault.empty()) return fault;
    }
    const Plan& plan = (*session)->plan();
    if ((*session)->statistics().copied_bytes != plan.copy_bytes ||
        (*session)->statistics().split_count != plan.splits.size())
      return "11: the statistics of the run are not those of the plan";
  }
  if (fault = fake_leaks(devices); !fault.empty()) return fault;
  return fake_conflict(*devices[0]);
}

std::string Trial::describe_smallest(const TrialCase& trial) {
  TrialCase smallest = trial;
  std::string fault;
  for (smallest.size = 1; smallest.size < trial.size; ++smallest.size)
    if (fault = run(smallest); !fault.empty()) break;
  if (fault.empty()) fault = run(trial);
  if (fault.empty()) fault = "(not again)";
  return cat(fault, "\n", smallest.text(), "\nworld ", world_, "\n",
             graph_text(*trial.family->make(trial.seed, smallest.size).graph));
}

}  // namespace backplane::testing
