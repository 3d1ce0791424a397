#include "scheduler/session/session_state.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"
#include "backplane/graph/subgraph.hpp"

namespace backplane {
namespace {

// A setback takes a device, or a (node, device) pair, away, so that this ends. The cap keeps a device that refuses
// everything from being asked node by node for ever.
constexpr int kMostTries = 64;

// PlanOptions::memory_comparisons of a plan that is made ahead of its use.
constexpr uint64_t kReservedComparisons = 20'000;

bool depends_on_names(const PlanOptions& options) { return !options.pins.empty() || !options.locations.empty(); }

// What a device refused: the node for itself, whatever graph it is in.
uint64_t node_key(const Graph& graph, NodeId node) { return Subgraph(graph, {&node, 1}).abi().key; }

bool contains(const std::vector<uint32_t>& list, uint32_t value) {
  return std::ranges::find(list, value) != list.end();
}

}  // namespace

Session::State::State(Runtime& runtime, std::vector<Device*> devices, SessionOptions options)
    : runtime_(runtime),
      devices_(std::move(devices)),
      options_(std::move(options)),
      cache_(options_.cached_plans, depends_on_names(options_.plan)) {}

Session::State::~State() {
  cancel();
  while (!flights_.empty()) static_cast<void>(wait(flights_.front().run));
}

void Session::State::note(std::string incident) {
  runtime_.log().write(LogLevel::warn, "scheduler", incident);
  incidents.push_back(std::move(incident));
}

PlanOptions Session::State::plan_options(const Graph& for_graph, const std::vector<NodeId>& cuts) const {
  PlanOptions plan = options_.plan;
  plan.pipelined = plan.pipelined || options_.pipeline_depth > 1;
  plan.cuts.insert(plan.cuts.end(), cuts.begin(), cuts.end());
  std::ranges::sort(plan.cuts);
  plan.separate_memory = plan.separate_memory || options_.debug_memory;
  plan.excluded_devices.insert(plan.excluded_devices.end(), lost_.begin(), lost_.end());
  if (refused_.empty()) return plan;
  for (NodeId node = 0; node < for_graph.node_count(); ++node) {
    const uint64_t key = node_key(for_graph, node);
    for (auto refusal = refused_.lower_bound({key, 0}); refusal != refused_.end() && refusal->first == key; ++refusal)
      plan.refusals.emplace_back(node, refusal->second);
  }
  return plan;
}

bool Session::State::meet(const Setback& setback, const Status& status, const Plan& plan, PlanOptions& options) {
  if (!options_.recover || setback.kind == Setback::Kind::none) return false;
  const std::string& device = plan.device_names[setback.device];
  switch (setback.kind) {
    case Setback::Kind::refused:
      for (const NodeId node : plan.nodes(plan.splits[setback.split])) {
        refused_.emplace(node_key(*plan.graph, node), setback.device);
        options.refusals.emplace_back(node, setback.device);
      }
      note(cat(status.message(), "; it goes to the next device"));
      break;
    case Setback::Kind::refused_late:
      note(cat(status.message(), "; run again one task after another, to see which it was"));
      break;
    case Setback::Kind::lost:
      if (!contains(lost_, setback.device)) lost_.push_back(setback.device);
      options.excluded_devices.push_back(setback.device);
      note(cat(device, " was lost: ", status.message()));
      break;
    default:
      if (contains(options.excluded_devices, setback.device)) return false;
      options.excluded_devices.push_back(setback.device);
      note(cat(status.message(), "; this graph goes without ", device));
  }
  ++totals.recoveries;
  return true;
}

// A state that was on a lost device is gone: to go on with zeros would give wrong numbers.
Status Session::State::check_states(const Graph& for_graph) const {
  for (const uint32_t device : lost_)
    for (const std::string& name : memory.states_on(*devices_[device]))
      for (StorageId storage = 0; storage < for_graph.storage_count(); ++storage)
        if ((for_graph.storage(storage).flags & BP_TENSOR_STATE) != 0 &&
            for_graph.tensor_name(for_graph.storage(storage).root) == name)
          return {Code::data_loss, cat("state '", name, "' was on ", devices_[device]->name(), ", which was lost"),
                  "session.state-lost"};
  return {};
}

// A graph output that is a state has one place, which the next run would overwrite before it is read.
uint32_t Session::State::depth_for(const Graph& for_graph) const {
  const bool shows_state = std::ranges::any_of(for_graph.outputs(), [&](const Graph::Port& port) {
    return (for_graph.storage(for_graph.storage_of(port.tensor)).flags & BP_TENSOR_STATE) != 0;
  });
  return shows_state || options_.debug_memory ? 1 : options_.pipeline_depth;
}

Result<std::unique_ptr<Executor>> Session::State::make_executor(const std::shared_ptr<const Graph>& for_graph,
                                                                std::shared_ptr<const Plan> plan,
                                                                PlanOptions plan_options) {
  Status first;  // what the first device said is what the user can do something about
  for (int tries = 0;; ++tries) {
    BP_TRY(check_states(*for_graph));
    if (plan == nullptr) {
      Result<std::shared_ptr<const Plan>> made = make_plan(for_graph, devices_, plan_options);
      if (!made.ok()) return first.ok() ? made.status() : first;
      plan = std::move(made).value();
      ++totals.plans_made;
    }
    Setback setback;
    const std::unique_ptr<Executor> donor = cache_.make_room(executor);
    Result<std::unique_ptr<Executor>> made = Executor::make({runtime_, plan, devices_, memory, depth_for(*for_graph),
                                                             donor.get(), options_.check_races, options_.debug_memory},
                                                            &setback);
    if (made.ok()) return made;
    if (first.ok()) first = made.status();
    if (tries == kMostTries || !meet(setback, made.status(), *plan, plan_options)) return first;
    plan = nullptr;
  }
}

Result<Executor*> Session::State::executor_for(const std::shared_ptr<const Graph>& for_graph,
                                               uint64_t memory_comparisons) {
  std::shared_ptr<const Plan> plan;
  if (Executor* const found = cache_.find(*for_graph, &plan); found != nullptr) {
    ++totals.plan_hits;
    BP_TRY(found->activate(memory));
    return found;
  }
  if (plan != nullptr) {
    // The same structure with other constants: the plan as it is, for this graph.
    auto mine = std::make_shared<Plan>(*plan);
    mine->graph = for_graph;
    plan = std::move(mine);
    ++totals.plan_hits;
  }
  PlanOptions options = plan_options(*for_graph, {});
  options.memory_comparisons = memory_comparisons;
  BP_TRY_ASSIGN(std::unique_ptr<Executor> made, make_executor(for_graph, std::move(plan), std::move(options)));
  return cache_.insert(std::move(made));
}

Status Session::State::use(std::shared_ptr<const Graph> next) {
  Status first;  // all are waited for, whatever becomes of one
  while (!flights_.empty()) {
    const Status status = wait(flights_.front().run);
    if (first.ok()) first = status;
  }
  BP_TRY(first);
  const Result<Executor*> made = executor_for(next, options_.plan.memory_comparisons);
  if (!made.ok()) {
    if (executor != nullptr) BP_TRY(reactivate());
    return made.status();
  }
  Executor* const found = *made;
  const bool again = executor == found && graph == next;
  executor = found;
  inactive_ = false;
  graph = std::move(next);
  observed_.reset();
  memory.trim();
  has_outputs = false;
  if (!again) inputs_.reset(*graph, keeps_input_copies());
  return {};
}

Status Session::State::reserve(const std::shared_ptr<const Graph>& for_graph) {
  BP_TRY(check_idle());
  if (options_.cached_plans < 2)
    return failed_precondition(cat("to reserve for a graph beside the one in use, a session keeps at least 2 plans; "
                                   "SessionOptions::cached_plans is ",
                                   options_.cached_plans),
                               "session.cached-plans");
  const Result<Executor*> made =
      executor_for(for_graph, std::max(options_.plan.memory_comparisons, kReservedComparisons));
  cache_.touch(executor);
  BP_TRY(reactivate());
  return made.ok() ? Status() : made.status();
}

// Should this fail, the next run tries again before it begins: it must not write states that are elsewhere by now.
Status Session::State::reactivate() {
  inactive_ = true;
  BP_TRY(executor->activate(memory));
  inactive_ = false;
  return {};
}

// Values in a device's own memory are gone with it.
bool Session::State::keeps_input_copies() const {
  if (!options_.recover || devices_.size() < 2) return false;
  return std::ranges::any_of(graph->inputs(), [&](const Graph::Port& port) {
    const uint32_t home = plan().homes[graph->storage_of(port.tensor)];
    return home != kNone && devices_[home]->type() != BP_DEVICE_CPU;
  });
}

Status Session::State::set_input(const Graph::Port& port, const HostTensor& value) {
  BP_TRY(check_room());
  const StorageId storage = graph->storage_of(port.tensor);
  // An output that is this input lies where the new value is put.
  const bool shown = (graph->storage(storage).flags & BP_TENSOR_OUTPUT) != 0;
  if (shown && outputs_of_ == executor && output_slot_ == executor->next_slot()) has_outputs = false;
  return inputs_.set(*executor, storage, value.bytes());
}

Status Session::State::check_room() const {
  if (flights_.size() < executor->depth()) return {};
  return failed_precondition(
      cat("all ", executor->depth(), " runs that may be in flight are: wait for run ", flights_.front().run),
      "session.pipeline-full");
}

Status Session::State::check_ready() const {
  const std::string missing = inputs_.missing(*graph);
  if (!missing.empty())
    return failed_precondition(cat("these inputs were never set: ", missing), "session.input-unset");
  return check_room();
}

Status Session::State::check_idle() const {
  if (flights_.empty()) return {};
  return failed_precondition(cat("run ", flights_.front().run, " is in flight: wait for it first, or use submit"),
                             "session.in-flight");
}

Result<uint64_t> Session::State::submit(const RunOptions& options) {
  BP_TRY(check_ready());
  if (inactive_) BP_TRY(reactivate());
  BP_TRY(inputs_.complete(*executor, *graph));
  has_outputs = has_outputs && outputs_of_ == executor && output_slot_ != executor->next_slot();
  set_active(executor);
  flights_.push_back({next_run_, executor->submit(options), options});
  return next_run_++;
}

Status Session::State::finish(uint64_t number, const RunOptions& options, Setback* setback) {
  const RunState::Clock::time_point begun = executor->begun(number);
  const Status status = executor->wait(number, options, setback);
  statistics = {};
  has_outputs = false;
  statistics.elapsed_ns = static_cast<uint64_t>((RunState::Clock::now() - begun).count());
  statistics.degraded = !lost_.empty() || !incidents.empty();
  if (!status.ok()) return status;
  ++totals.runs;
  statistics.copied_bytes = plan().copy_bytes - executor->saved_bytes(number);
  statistics.copy_count = static_cast<uint32_t>(plan().copies.size());
  statistics.split_count = static_cast<uint32_t>(plan().splits.size());
  has_outputs = true;
  outputs_of_ = executor;
  output_slot_ = executor->slot(number);
  return status;
}

Status Session::State::wait(uint64_t run) {
  if (flights_.empty() || flights_.front().run != run)
    return failed_precondition(
        flights_.empty() ? cat("run ", run, " is not in flight: nothing is")
                         : cat("run ", run, " is not the oldest in flight: that is run ", flights_.front().run),
        "session.run-number");
  const Flight flight = flights_.front();
  if (flight.aborted) {
    flights_.erase(flights_.begin());
    return {Code::aborted, "a run before this one failed while it was in flight", "session.aborted"};
  }
  Setback setback;
  Status status = finish(flight.number, flight.options, &setback);
  for (int tries = 0; !status.ok() && setback.kind != Setback::Kind::none && tries < kMostTries; ++tries)
    status = recover(flight.options, status, &setback);
  flights_.erase(flights_.begin());
  if (flights_.empty()) set_active(nullptr);
  return status;
}

Status Session::State::read(StorageId storage, std::span<std::byte> bytes) {
  return outputs_of_->read(storage, output_slot_, 0, bytes);
}

void Session::State::set_active(Executor* active) {
  const std::lock_guard lock(active_mutex_);
  active_ = active;
  if (active == nullptr) cancelled_ = false;
}

void Session::State::cancel() {
  const std::lock_guard lock(active_mutex_);
  cancelled_ = true;
  if (active_ != nullptr) active_->cancel();
}

}  // namespace backplane
