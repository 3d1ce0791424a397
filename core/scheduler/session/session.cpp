#include "backplane/scheduler/session.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>

#include "backplane/base/text.hpp"
#include "scheduler/execution/executor.hpp"

namespace backplane {
namespace {

using Clock = std::chrono::steady_clock;

// A refused split moves to other devices; each refusal takes at least one (node, device) pair away, so this ends. The
// cap keeps a device that refuses everything from being asked node by node for ever.
constexpr int kMostReplans = 64;

void remember(const Plan& plan, const Refusal& refusal, PlanOptions& options) {
  const Split& split = plan.splits[refusal.split];
  for (const NodeId node : plan.nodes(split)) options.refusals.emplace_back(node, split.device);
}

std::string port_list(const std::vector<Graph::Port>& ports) {
  std::string text;
  for (const Graph::Port& port : ports) text += cat(text.empty() ? "" : ", ", port.name);
  return text.empty() ? "none" : text;
}

std::string unknown_port(std::string_view kind, std::string_view name, const std::vector<Graph::Port>& ports) {
  std::vector<std::string> names;
  for (const Graph::Port& port : ports) names.push_back(port.name);
  return cat("the graph has no ", kind, " '", name, "'", did_you_mean(name, names), "; it has: ", port_list(ports));
}

}  // namespace

struct Session::State {
  State(Runtime& runtime_in, std::shared_ptr<const Graph> graph_in, std::vector<Device*> devices_in,
        PlanOptions options_in)
      : runtime(runtime_in),
        graph(std::move(graph_in)),
        devices(std::move(devices_in)),
        options(std::move(options_in)) {}

  Runtime& runtime;
  std::shared_ptr<const Graph> graph;
  std::vector<Device*> devices;
  PlanOptions options;
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<Executor> executor;
  std::set<StorageId> inputs_set;
  RunStatistics statistics;
  bool has_run = false;
  std::atomic<bool> cancelled{false};
  std::mutex run_mutex;  // guards current_run, so that only a run in progress is cancelled
  bp_run_id current_run = 0;

  // Plans and makes an executor, again and again while devices refuse splits that they promised to run.
  Status build() {
    for (int attempt = 0;; ++attempt) {
      BP_TRY_ASSIGN(plan, make_plan(graph, devices, options));
      Refusal refusal;
      Result<std::unique_ptr<Executor>> made = Executor::make(plan, devices, &refusal);
      if (made.ok()) {
        executor = std::move(made).value();
        return {};
      }
      if (refusal.split == kNone || attempt == kMostReplans) return made.status();
      runtime.log().write(LogLevel::warn, "scheduler", cat(made.status().message(), "; trying the next device"));
      remember(*plan, refusal, options);
    }
  }

  Status check_inputs_set() const {
    std::string missing;
    for (const Graph::Port& port : graph->inputs())
      if (!inputs_set.contains(graph->storage_of(port.tensor)))
        missing += cat(missing.empty() ? "" : ", ", graph->tensor_text(port.tensor));
    return missing.empty() ? Status()
                           : failed_precondition(cat("these inputs were never set: ", missing), "session.input-unset");
  }

  void set_current_run(bp_run_id run) {
    const std::lock_guard lock(run_mutex);
    current_run = run;
  }

  void cancel() {
    cancelled = true;
    const std::lock_guard lock(run_mutex);
    if (current_run != 0) runtime.cancel_run(current_run);
  }

  Status run_once(Refusal* refusal) {
    const bp_run_id run = runtime.begin_run();
    set_current_run(run);
    statistics = {};
    const Clock::time_point start = Clock::now();
    const Status status = executor->run(
        run, [this] { return cancelled.load(); }, statistics, refusal);
    statistics.elapsed_ns =
        static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
    set_current_run(0);
    runtime.finish_run(run);
    return status;
  }

  // Moves input values from one executor to another that was made for a new plan.
  Status carry_inputs(Executor& from, Executor& to) const {
    for (const StorageId storage : inputs_set) {
      std::vector<std::byte> bytes(graph->storage(storage).bytes);
      BP_TRY(from.read(storage, 0, bytes));
      BP_TRY(to.write(storage, 0, bytes));
    }
    return {};
  }

  // A run that has written a state cannot be started again: the state would be written twice.
  bool can_start_again() const {
    for (StorageId storage = 0; storage < graph->storage_count(); ++storage)
      if ((graph->storage(storage).flags & BP_TENSOR_STATE) != 0) return false;
    return true;
  }

  Status replan(const Refusal& refusal) {
    remember(*plan, refusal, options);
    std::unique_ptr<Executor> old = std::move(executor);
    const std::shared_ptr<const Plan> old_plan = plan;
    Status status = build();
    if (status.ok()) status = carry_inputs(*old, *executor);
    if (!status.ok()) plan = old_plan, executor = std::move(old);
    return status;
  }
};

Session::Session() = default;
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::prepare(Runtime& runtime, std::shared_ptr<const Graph> graph,
                                                  std::vector<Device*> devices, PlanOptions options) {
  if (graph == nullptr) return invalid_argument("prepare: the graph is null");
  if (std::ranges::find(devices, nullptr) != devices.end()) return invalid_argument("prepare: a device is null");
  if (devices.empty()) devices = runtime.devices();
  std::unique_ptr<Session> session(new Session);
  session->state_ = std::make_unique<State>(runtime, std::move(graph), std::move(devices), std::move(options));
  BP_TRY(session->state_->build());
  return session;
}

const Plan& Session::plan() const { return *state_->plan; }
const Graph& Session::graph() const { return *state_->graph; }
const RunStatistics& Session::statistics() const { return state_->statistics; }

Status Session::set_input(std::string_view name, const HostTensor& value) {
  const Graph& graph = *state_->graph;
  const Graph::Port* port = graph.find_input(name);
  if (port == nullptr) return not_found(unknown_port("input", name, graph.inputs()), "session.input-name");
  const std::span<const int64_t> shape = graph.shape(port->tensor);
  if (value.is_null() || value.dtype() != graph.dtype(port->tensor) || !std::ranges::equal(value.shape(), shape))
    return invalid_argument(cat("input '", name, "' wants ", type_name(graph.dtype(port->tensor)), " ",
                                shape_text(shape), ", found ", value.to_string()),
                            "session.input-shape");
  const StorageId storage = graph.storage_of(port->tensor);
  BP_TRY(state_->executor->write(storage, 0, value.bytes()));
  state_->inputs_set.insert(storage);
  return {};
}

Status Session::run() {
  BP_TRY(state_->check_inputs_set());
  state_->cancelled = false;
  state_->has_run = false;
  for (int attempt = 0;; ++attempt) {
    Refusal refusal;
    const Status status = state_->run_once(&refusal);
    if (status.ok()) {
      state_->has_run = true;
      return {};
    }
    if (refusal.split == kNone || attempt == kMostReplans || !state_->can_start_again()) return status;
    BP_TRY(state_->replan(refusal));
  }
}

Result<HostTensor> Session::output(std::string_view name) const {
  const Graph& graph = *state_->graph;
  const Graph::Port* port = graph.find_output(name);
  if (port == nullptr) return not_found(unknown_port("output", name, graph.outputs()), "session.output-name");
  if (!state_->has_run) return failed_precondition(cat("output '", name, "' is asked for before a successful run"));
  const StorageId storage = graph.storage_of(port->tensor);
  if (const HostTensor& constant = graph.constant(storage); !constant.is_null())
    return graph.dense_value(port->tensor, constant.bytes());
  std::vector<std::byte> bytes(graph.storage(storage).bytes);
  BP_TRY(state_->executor->read(storage, 0, bytes));
  return graph.dense_value(port->tensor, bytes);
}

void Session::cancel() { state_->cancel(); }

}  // namespace backplane
