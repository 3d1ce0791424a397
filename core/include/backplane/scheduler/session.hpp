// Session: a graph, prepared for a list of devices, and run as often as wanted.
//
// Ownership: the Runtime outlives the Session; the graph is shared. Thread safety: calls are serialised by the caller,
// but for `cancel`, which any thread may call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/graph.hpp"
#include "backplane/graph/host_tensor.hpp"
#include "backplane/runtime/runtime.hpp"
#include "backplane/scheduler/plan.hpp"

namespace backplane {

// What the last run did.
struct RunStatistics {
  uint64_t elapsed_ns = 0;
  uint64_t copied_bytes = 0;
  uint32_t copy_count = 0;
  uint32_t split_count = 0;
  std::vector<uint64_t> split_ns;  // by split, its copies included
};

class Session {
 public:
  // Plans, allocates, uploads constants and compiles the splits. `devices` in priority order; empty = all of the
  // runtime's. A split that its device refuses to compile goes to the next device.
  // Errors: as make_plan; invalid_argument for a null graph or device; resource_exhausted when memory is short. Nothing
  // is kept on an error.
  static Result<std::unique_ptr<Session>> prepare(Runtime& runtime, std::shared_ptr<const Graph> graph,
                                                  std::vector<Device*> devices = {}, PlanOptions options = {});
  ~Session();

  const Plan& plan() const;
  const Graph& graph() const;

  // Copies a value in. Errors: not_found listing the inputs; invalid_argument for another type or shape.
  Status set_input(std::string_view name, const HostTensor& value);
  // Runs the graph. Errors: failed_precondition naming inputs that were never set; what a device reported. After an
  // error or cancellation the session can run again; states may then hold what part of the run has written.
  Status run();
  // Copies an output of the last successful run. Errors: not_found; failed_precondition before a run.
  Result<HostTensor> output(std::string_view name) const;
  const RunStatistics& statistics() const;
  // Asks a run in progress to stop; it returns `cancelled`.
  void cancel();

 private:
  Session();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace backplane
