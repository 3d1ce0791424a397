// Session::State: the graph in use and its executor, the runs in flight, and what is known about the devices.
//
// Thread safety: serialised by the caller, but for cancel.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backplane/scheduler/session.hpp"
#include "scheduler/execution/executor.hpp"
#include "scheduler/memory/session_memory.hpp"
#include "scheduler/session/input_values.hpp"
#include "scheduler/session/plan_cache.hpp"

namespace backplane {

struct Session::State {
  State(Runtime& runtime, std::vector<Device*> devices, SessionOptions options);
  ~State();

  // Makes a graph the one in use. On an error everything stays as it was.
  Status use(std::shared_ptr<const Graph> graph);
  // Makes and keeps an executor for a graph, which need not be the one in use. On an error everything stays as it was.
  Status reserve(const std::shared_ptr<const Graph>& for_graph);
  Status set_input(const Graph::Port& port, const HostTensor& value);
  Result<uint64_t> submit(const RunOptions& options);
  Status wait(uint64_t run);
  // failed_precondition while runs are in flight: only the oldest of them can be waited for.
  Status check_idle() const;
  Status run_observed(const RunOptions& options);
  Status read(StorageId storage, std::span<std::byte> bytes);
  void cancel();

  const Plan& plan() const { return *executor->plan(); }

  std::shared_ptr<const Graph> graph;  // in use; its plan may be that of another graph of the same structure
  RunStatistics statistics;
  SessionStatistics totals;
  std::vector<std::string> incidents;
  Executor* executor = nullptr;  // of the graph; owned by cache
  bool has_outputs = false;      // of the run that was waited for last
  SessionMemory memory;

 private:
  struct Flight {
    uint64_t run;     // the session's number
    uint64_t number;  // the executor's
    RunOptions options;
    bool aborted = false;  // its executor is gone
  };

  // An executor for a graph, from the cache or made anew.
  Result<Executor*> executor_for(const std::shared_ptr<const Graph>& for_graph, uint64_t memory_comparisons);
  // Plans (unless there is a plan) and makes an executor, again and again while devices have setbacks.
  Result<std::unique_ptr<Executor>> make_executor(const std::shared_ptr<const Graph>& for_graph,
                                                  std::shared_ptr<const Plan> plan, PlanOptions plan_options);
  PlanOptions plan_options(const Graph& for_graph, const std::vector<NodeId>& cuts) const;
  // Whether another try may help. Notes what happened, for this graph and for those to come.
  bool meet(const Setback& setback, const Status& status, const Plan& plan, PlanOptions& options);
  // Makes the executor's memory that of the states and arenas, where another executor was made meanwhile.
  Status reactivate();
  Status check_states(const Graph& for_graph) const;
  Status check_room() const;   // for one more run in flight
  Status check_ready() const;  // to submit
  bool keeps_input_copies() const;
  uint32_t depth_for(const Graph& for_graph) const;
  Status finish(uint64_t number, const RunOptions& options, Setback* setback);
  void note(std::string incident);
  void set_active(Executor* active);

  // Runs the oldest run, which failed, again without what failed; the others in flight are aborted. Returns how that
  // ended, or the old failure with the reason why it could not be done.
  Status recover(const RunOptions& options, const Status& status, Setback* setback);
  bool has_written_state() const;
  void abort_others();
  Status run_again(const RunOptions& options, PlanOptions plan_options, bool step_by_step, Setback* setback);

  Status observe(const RunOptions& options, const std::vector<NodeId>& wanted);
  Result<Executor*> observed_executor(const std::vector<NodeId>& cuts);
  Status show_nodes(Executor& observed, uint32_t split, const std::vector<NodeId>& wanted, const Observer& observer);

  Runtime& runtime_;
  const std::vector<Device*> devices_;
  const SessionOptions options_;
  PlanCache cache_;
  std::unique_ptr<Executor> observed_;  // of the graph, with a cut after each node of observed_cuts_
  std::vector<NodeId> observed_cuts_;
  Executor* outputs_of_ = nullptr;  // whose memory has the outputs of the last run
  uint32_t output_slot_ = 0;
  std::mutex active_mutex_;     // guards the next two
  Executor* active_ = nullptr;  // has runs in flight
  bool cancelled_ = false;      // since the last submission
  InputValues inputs_;
  std::vector<Flight> flights_;  // oldest first; a few
  uint64_t next_run_ = 1;
  std::vector<uint32_t> lost_;                       // devices
  bool inactive_ = false;                            // states may not be where the executor has them
  std::set<std::pair<uint64_t, uint32_t>> refused_;  // (structure of a node, device)
};

}  // namespace backplane
