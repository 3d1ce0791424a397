// Session: graphs, prepared for a list of devices, and run as often as wanted.
//
// Start here to run a graph: prepare, set_input, run, output. Several runs may be in flight (submit, wait), several
// graphs may take turns (use); whatever a device refuses or loses goes to the others.
// Ownership: the Runtime outlives the Session; graphs are shared. Thread safety: calls are serialised by the caller,
// but for `cancel`, which any thread may call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/graph.hpp"
#include "backplane/graph/host_tensor.hpp"
#include "backplane/runtime/runtime.hpp"
#include "backplane/scheduler/plan.hpp"

namespace backplane {

class Trace;

struct SessionOptions {
  SessionOptions() = default;
  SessionOptions(PlanOptions plan_options) : plan(std::move(plan_options)) {}  // NOLINT(implicit)

  PlanOptions plan;
  // Runs that may be in flight at once, at least 1. Inputs and outputs have memory for each; where that is short, or an
  // output is a state and so has one place, fewer are allowed: Session::pipeline_depth.
  uint32_t pipeline_depth = 1;
  // Graphs whose plans are kept, the last used ones.
  uint32_t cached_plans = 8;
  // Whether other devices take over what a device refuses, loses or has no memory for. False = that is an error.
  bool recover = true;
  // Looks for accesses to the same bytes that nothing orders; a run with one fails. For debugging: slow.
  bool check_races = false;
  // Every tensor gets a buffer of its own with red zones, which a run that damages them fails with; what no node has
  // written is NaN. One run at a time. For debugging: slow, and takes much memory.
  bool debug_memory = false;
};

// Sees the results of single nodes, in the order of execution. Runs with an observer go one task after another.
struct Observer {
  // Asked once per node when the run begins; null = all.
  std::function<bool(NodeId)> wants;
  // Given the outputs of a wanted node, null tensors for absent ones. False cancels the run.
  std::function<bool(NodeId, const std::vector<HostTensor>& outputs)> take;
};

struct RunOptions {
  // From submission on; BP_TIMEOUT_INFINITE = none. A run that takes longer is cancelled: deadline_exceeded.
  uint64_t timeout_ns = BP_TIMEOUT_INFINITE;
  const Observer* observer = nullptr;  // outlives the call of run; not with submit
  Trace* trace = nullptr;              // outlives the run; each device then finishes a task before it begins the next
};

// What the last finished run did.
struct RunStatistics {
  uint64_t elapsed_ns = 0;    // from submission to the end
  uint64_t copied_bytes = 0;  // between devices
  uint32_t copy_count = 0;
  uint32_t split_count = 0;
  bool degraded = false;  // not all devices that the session was prepared for are in use
};

// Of a session's whole life.
struct SessionStatistics {
  uint64_t runs = 0;
  uint64_t plans_made = 0, plan_hits = 0;  // by use(), prepare() and recovery
  uint64_t recoveries = 0;                 // plans made because a device refused, was lost or had no memory
  uint64_t arena_growths = 0;              // buffers allocated anew because a plan needs more
};

class Session {
 public:
  // Plans, allocates, uploads constants and compiles the splits. `devices` in priority order; empty = all of the
  // runtime's.
  // Errors: as make_plan; invalid_argument for a null graph or device; resource_exhausted when memory is short. Nothing
  // is kept on an error.
  static Result<std::unique_ptr<Session>> prepare(Runtime& runtime, std::shared_ptr<const Graph> graph,
                                                  std::vector<Device*> devices = {}, SessionOptions options = {});
  // Waits for what is in flight.
  ~Session();

  const Plan& plan() const;
  const Graph& graph() const;
  uint32_t pipeline_depth() const;

  // Goes on with another graph: with the plan that a graph of the same structure had, else with a new one. Inputs must
  // be set anew; states of equal names keep their values and are shared. Waits for what is in flight.
  // Errors: as prepare; invalid_argument for a state of another type or size than that of its name; the first error of
  // what was in flight. The session goes on with the graph it had.
  Status use(std::shared_ptr<const Graph> graph);

  // Gets ready for another graph without using it: plans, with more work for a small memory than use() spends, and
  // allocates, so that use() of it finds all that. Nothing that is in use is touched: not the graph, nor inputs,
  // outputs and states. Errors: as prepare, and nothing has changed; failed_precondition while runs are in flight, or
  // if cached_plans is less than 2.
  Status reserve(std::shared_ptr<const Graph> graph);

  // Copies a value in, for the runs submitted from now on. Errors: not_found listing the inputs; invalid_argument for
  // another type or shape; failed_precondition "session.pipeline-full" as submit.
  Status set_input(std::string_view name, const HostTensor& value);
  // Runs the graph: submit and wait. Errors: failed_precondition naming inputs that were never set, or
  // "session.in-flight" if a run is in flight; what a device reported. After an error or cancellation the session can
  // run again; states may then hold what part of the run has written.
  Status run(const RunOptions& options = {});
  // Starts a run and returns its number. Errors: as run, for what is found out at once; failed_precondition
  // "session.pipeline-full" if pipeline_depth runs have been submitted and not waited for.
  Result<uint64_t> submit(const RunOptions& options = {});
  // Waits for the oldest run that was not waited for, which must be `run`. Errors: failed_precondition for another one;
  // aborted if an earlier one failed while this one was in flight; else as run.
  Status wait(uint64_t run);
  // Copies an output of the run that was waited for last. Errors: not_found; failed_precondition if it did not succeed.
  Result<HostTensor> output(std::string_view name) const;
  // The same without an allocation: exactly the bytes of the output, dense or in the strides that it has.
  // Errors: as output; invalid_argument for another number of bytes than the storage of the output has.
  Status read_output(std::string_view name, std::span<std::byte> target) const;
  // Asks all runs in flight to stop; they return `cancelled`.
  void cancel();

  const RunStatistics& statistics() const;
  SessionStatistics totals() const;
  // What went wrong and how it was met, oldest first: devices that refused, were lost, or had no memory.
  const std::vector<std::string>& incidents() const;

 private:
  Session();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace backplane
