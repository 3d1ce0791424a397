#include "trial.hpp"

#include <algorithm>
#include <random>

#include "backplane/base/text.hpp"
#include "fake_device.hpp"
#include "graph_maker.hpp"
#include "happens_before.hpp"
#include "memory_invariants.hpp"
#include "plan_comparisons.hpp"
#include "plan_invariants.hpp"
#include "run_checks.hpp"
#include "symbolic_run.hpp"

namespace backplane::testing {

namespace {

// Not a fault: the graph cannot be planned for these devices, and the plan's error says so.
constexpr const char* kRefused = "refused";

// Whether the writers of each storage have a device in common, and no pin takes one elsewhere. Without, a plan may be
// refused.
bool writers_meet(const Graph& graph, const std::vector<Device*>& devices, const PlanOptions& options) {
  std::vector<std::vector<bool>> meet(graph.storage_count(), std::vector<bool>(devices.size(), true));
  for (uint32_t device = 0; device < devices.size(); ++device) {
    const NodeAnswers answers = devices[device]->query(graph.abi()).value();
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

// Options that the devices can keep: mode, reordering, pins, located weights, no reuse of memory ...
PlanOptions make_plan_options(uint64_t seed, const Graph& graph, const std::vector<Device*>& devices) {
  std::mt19937_64 random(seed * 31 + 7);
  const auto chance = [&](uint64_t percent) { return random() % 100 < percent; };
  PlanOptions options;
  if (chance(40)) options.mode = PlacementMode::greedy;
  if (chance(15)) {
    options.mode = PlacementMode::cost;
    options.device_costs = default_costs_of(devices);
  }
  if (chance(30)) options.reorder_window = static_cast<uint32_t>(random() % 8);
  options.reuse_memory = !chance(10);
  options.pipelined = chance(20);
  options.soft_weights = chance(50);
  if (chance(40)) options.offload_ratio = random() % 3;
  if (chance(20)) options.staging_bytes = random() % 4096;
  if (chance(30)) options.weights_device = static_cast<uint32_t>(random() % devices.size());
  if (chance(30))
    for (uint32_t number = 0; number < devices.size(); ++number) {
      const NodeAnswers answers = devices[number]->query(graph.abi()).value();
      for (NodeId node = number; node < graph.node_count(); node += static_cast<uint32_t>(devices.size()))
        if (answers[node].runs() && chance(20)) options.pins.emplace_back(std::to_string(node), number);
    }
  return options;
}

// The same graph with other values of its inputs.
GeneratedGraph with_other_inputs(const GeneratedGraph& generated) {
  GeneratedGraph other = generated;
  for (auto& [name, value] : other.inputs) {
    HostTensor changed = HostTensor::zeros(value.dtype(), value.shape()).value();
    for (int64_t i = 0; i < value.elements(); ++i)
      changed.mutable_data<int32_t>()[i] = value.data<int32_t>()[i] ^ 0x5A5A5A5A;
    value = std::move(changed);
  }
  return other;
}

}  // namespace

std::string TrialCase::text() const { return cat("family ", family->name, ", seed ", seed, ", size ", size); }

TrialCase make_case(uint64_t number) {
  std::mt19937_64 random(number);
  const std::vector<GraphFamily>& families = all_families();
  const GraphFamily* family = &families[random() % (random() % 3 == 0 ? families.size() : 2)];
  return {family, number, static_cast<int>(1 + random() % (random() % 8 == 0 ? 40 : 14))};
}

Trial::Trial(DeviceWorld world, bool plans_only)
    : world_(std::move(world)), plans_only_(plans_only), runtime_(world_.options), devices_(runtime_.devices()) {
  const auto idle =
      std::ranges::find(devices_, world_.idle_device, [](const Device* device) { return device->name(); });
  if (idle == devices_.end()) return;
  idle_ = *idle;
  devices_.erase(idle);
}

std::string Trial::run(const TrialCase& trial) {
  const GeneratedGraph generated = trial.make();
  const PlanOptions options = make_plan_options(trial.seed, *generated.graph, devices_);
  std::string fault = check_plan(trial, generated, options);
  if (fault == kRefused) return "";
  if (fault.empty() && !plans_only_) fault = check_runs(generated, options);
  return fault;
}

std::string Trial::check_plan(const TrialCase& trial, const GeneratedGraph& generated, const PlanOptions& options) {
  const auto plan = make_plan(generated.graph, devices_, options);
  if (plan.status().code() == Code::unimplemented && !writers_meet(*generated.graph, devices_, options))
    return kRefused;
  if (!plan.ok()) return "planning: " + plan.status().to_string();
  std::string fault = check_plan_invariants(**plan, devices_, options);
  if (fault.empty()) fault = check_memory_invariants(**plan, devices_);
  if (fault.empty()) fault = check_symbolic_run(**plan);
  if (fault.empty()) fault = check_happens_before(**plan, options.pipelined ? 2 : 1);
  if (!fault.empty()) return fault;
  const GeneratedGraph renamed = trial.family->make(trial.seed | kOtherNames, trial.size);
  return compare_plans(**plan, {devices_, options, idle_, renamed.graph, trial.seed % 8 == 0});
}

std::string Trial::check_runs(const GeneratedGraph& generated, const PlanOptions& options) {
  std::string fault;
  const std::vector<Outputs> wanted = oracle_.two_runs(generated, fault);
  if (!fault.empty()) return fault;
  {
    SessionOptions session_options(options);
    session_options.pipeline_depth = options.pipelined ? 3 : 1;
    session_options.check_races = world_.async;
    const auto session = Session::prepare(*runtime_, generated.graph, devices_, session_options);
    if (!session.ok()) return "preparing: " + session.status().to_string();
    fault = check_runs_in_turn(**session, generated, wanted);
    if (fault.empty() && options.pipelined && !has_states(*generated.graph)) {
      const GeneratedGraph other = with_other_inputs(generated);
      fault = check_pipelined_runs(**session, generated, wanted[0], other, oracle_.two_runs(other, fault)[0]);
    }
    if (!fault.empty()) return fault;
  }
  if (fault = fake_leaks(devices_); !fault.empty()) return fault;
  return fake_conflict(*devices_[0]);
}

std::string Trial::describe_smallest(const TrialCase& trial) {
  TrialCase smallest = trial;
  std::string fault;
  for (smallest.size = 1; smallest.size < trial.size; ++smallest.size)
    if (fault = run(smallest); !fault.empty()) break;
  if (fault.empty()) fault = run(trial);
  if (fault.empty()) fault = "(not again)";
  return cat(fault, "\n", smallest.text(), "\nworld ", world_.options, "\n", graph_text(*smallest.make().graph));
}

}  // namespace backplane::testing
