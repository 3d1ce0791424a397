// Runs of a Session::State whose nodes are shown to an observer.
#include <algorithm>

#include "backplane/base/text.hpp"
#include "scheduler/session/session_state.hpp"

namespace backplane {

// The plan of such a run ends a split after each wanted node, so that its outputs can be read before their memory is
// given on.
Result<Executor*> Session::State::observed_executor(const std::vector<NodeId>& cuts) {
  if (observed_ == nullptr || observed_cuts_ != cuts) {
    BP_TRY_ASSIGN(observed_, make_executor(graph, nullptr, plan_options(*graph, cuts)));
    observed_cuts_ = cuts;
  }
  BP_TRY(observed_->activate(memory));
  return observed_.get();
}

Status Session::State::show_nodes(Executor& observed, uint32_t index, const std::vector<NodeId>& wanted,
                                  const Observer& observer) {
  const Plan& plan = *observed.plan();
  const Split& split = plan.splits[index];
  const NodeId node = plan.nodes(split).back();
  if (!std::ranges::binary_search(wanted, node)) return {};
  std::vector<HostTensor> outputs;
  for (const TensorId output : graph->node_outputs(node)) {
    outputs.emplace_back();
    if (output == kNone) continue;
    const StorageId storage = graph->storage_of(output);
    std::vector<std::byte> bytes(graph->storage(storage).bytes);
    BP_TRY(observed.read_on(split.device, storage, 0, bytes));
    BP_TRY_ASSIGN(outputs.back(), graph->dense_value(output, bytes));
  }
  if (observer.take(node, outputs)) return {};
  return {Code::cancelled, cat("the observer cancelled the run at node ", node), "session.cancelled"};
}

Status Session::State::run_observed(const RunOptions& options) {
  BP_TRY(check_ready());
  BP_TRY(check_idle());
  const Observer& observer = *options.observer;
  if (!observer.take) return invalid_argument("the observer has no function `take`");
  std::vector<NodeId> wanted;
  for (NodeId node = 0; node < graph->node_count(); ++node)
    if (!observer.wants || observer.wants(node)) wanted.push_back(node);
  const Status status = observe(options, wanted);
  set_active(nullptr);
  // The states come back, also where they had only begun to move.
  const Status back = reactivate();
  return status.ok() ? back : status;
}

Status Session::State::observe(const RunOptions& options, const std::vector<NodeId>& wanted) {
  BP_TRY_ASSIGN(Executor* const observed, observed_executor(wanted));
  const std::vector<bool> none_lost(devices_.size(), false);
  BP_TRY_ASSIGN(const InputValues::Snapshot values, inputs_.save(*executor, *graph, none_lost));
  BP_TRY(inputs_.restore(values, *observed, /*newest=*/false));
  set_active(observed);
  const uint64_t number = observed->run_observed(
      options, [&](uint32_t split) { return show_nodes(*observed, split, wanted, *options.observer); });
  Executor* const main = std::exchange(executor, observed);
  Setback setback;
  const Status status = finish(number, options, &setback);
  executor = main;
  return status;
}

}  // namespace backplane
