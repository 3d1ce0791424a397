#include "backplane/scheduler/session.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"
#include "scheduler/session/session_state.hpp"

namespace backplane {
namespace {

std::string unknown_port(std::string_view kind, std::string_view name, const std::vector<Graph::Port>& ports) {
  std::vector<std::string> names;
  for (const Graph::Port& port : ports) names.push_back(port.name);
  return cat("the graph has no ", kind, " '", name, "'", did_you_mean(name, names),
             "; it has: ", names.empty() ? "none" : join(names, ", "));
}

}  // namespace

Session::Session() = default;
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::prepare(Runtime& runtime, std::shared_ptr<const Graph> graph,
                                                  std::vector<Device*> devices, SessionOptions options) {
  if (std::ranges::find(devices, nullptr) != devices.end()) return invalid_argument("prepare: a device is null");
  if (options.pipeline_depth == 0) return invalid_argument("prepare: pipeline_depth is 0; at least 1 is wanted");
  if (devices.empty()) devices = runtime.devices();
  if (options.plan.mode == PlacementMode::cost && options.plan.device_costs.empty())
    options.plan.device_costs = calibrate(runtime, devices);
  std::unique_ptr<Session> session(new Session);
  session->state_ = std::make_unique<State>(runtime, std::move(devices), std::move(options));
  BP_TRY(session->use(std::move(graph)));
  return session;
}

const Plan& Session::plan() const { return state_->plan(); }
const Graph& Session::graph() const { return *state_->graph; }
uint32_t Session::pipeline_depth() const { return state_->executor->depth(); }
const RunStatistics& Session::statistics() const { return state_->statistics; }
const std::vector<std::string>& Session::incidents() const { return state_->incidents; }

SessionStatistics Session::totals() const {
  SessionStatistics totals = state_->totals;
  totals.arena_growths = state_->memory.arena_growths();
  return totals;
}

Status Session::use(std::shared_ptr<const Graph> graph) {
  if (graph == nullptr) return invalid_argument("the graph is null");
  return state_->use(std::move(graph));
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): as `use`
Status Session::reserve(std::shared_ptr<const Graph> graph) {
  if (graph == nullptr) return invalid_argument("the graph is null");
  return state_->reserve(graph);
}

Status Session::set_input(std::string_view name, const HostTensor& value) {
  const Graph& graph = *state_->graph;
  const Graph::Port* port = graph.find_input(name);
  if (port == nullptr) return not_found(unknown_port("input", name, graph.inputs()), "session.input-name");
  const std::span<const int64_t> shape = graph.shape(port->tensor);
  if (value.is_null() || value.dtype() != graph.dtype(port->tensor) || !std::ranges::equal(value.shape(), shape))
    return invalid_argument(cat("input '", name, "' wants ", type_name(graph.dtype(port->tensor)), " ",
                                shape_text(shape), ", found ", value.to_string()),
                            "session.input-shape");
  return state_->set_input(*port, value);
}

Status Session::run(const RunOptions& options) {
  if (options.observer != nullptr) return state_->run_observed(options);
  BP_TRY(state_->check_idle());
  BP_TRY_ASSIGN(const uint64_t number, state_->submit(options));
  return state_->wait(number);
}

Result<uint64_t> Session::submit(const RunOptions& options) {
  if (options.observer != nullptr) return invalid_argument("submit takes no observer; run does");
  return state_->submit(options);
}

Status Session::wait(uint64_t run) { return state_->wait(run); }

Result<HostTensor> Session::output(std::string_view name) const {
  const Graph& graph = *state_->graph;
  const Graph::Port* port = graph.find_output(name);
  if (port == nullptr) return not_found(unknown_port("output", name, graph.outputs()), "session.output-name");
  std::vector<std::byte> bytes(graph.storage(graph.storage_of(port->tensor)).bytes);
  BP_TRY(read_output(name, bytes));
  return graph.dense_value(port->tensor, bytes);
}

Status Session::read_output(std::string_view name, std::span<std::byte> target) const {
  const Graph& graph = *state_->graph;
  const Graph::Port* port = graph.find_output(name);
  if (port == nullptr) return not_found(unknown_port("output", name, graph.outputs()), "session.output-name");
  if (!state_->has_outputs)
    return failed_precondition(cat("output '", name,
                                   "' is asked for before a successful run, or after its memory was "
                                   "given to another"),
                               "session.no-output");
  const StorageId storage = graph.storage_of(port->tensor);
  if (target.size() != graph.storage(storage).bytes)
    return invalid_argument(
        cat("output '", name, "' has ", graph.storage(storage).bytes, " bytes, found room for ", target.size()),
        "session.output-size");
  if (const HostTensor& constant = graph.constant(storage); !constant.is_null()) {
    std::ranges::copy(constant.bytes(), target.begin());
    return {};
  }
  return state_->read(storage, target);
}

void Session::cancel() { state_->cancel(); }

}  // namespace backplane
