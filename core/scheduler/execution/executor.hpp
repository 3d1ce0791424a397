// Executor: the memory, programs and streams of one plan, and the running of it.
//
// Splits run one after another in the plan's order; each is finished before the copies of the next begin.
// Ownership: borrows devices. Thread safety: serialised by the caller.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/subgraph.hpp"
#include "backplane/runtime/device.hpp"
#include "backplane/scheduler/plan.hpp"
#include "backplane/scheduler/session.hpp"

namespace backplane {

// A split that its device took in the query and then refused.
struct Refusal {
  uint32_t split = kNone;
  Status why;
};

class Executor {
 public:
  // Allocates, uploads constants and compiles. On a failure with *refusal filled in, the plan may be made again
  // without that device for the nodes of that split. Errors: resource_exhausted and what devices report.
  static Result<std::unique_ptr<Executor>> make(std::shared_ptr<const Plan> plan, std::vector<Device*> devices,
                                                Refusal* refusal);

  // Writes / reads the bytes of a storage at its home, `offset` bytes into it.
  Status write(StorageId storage, uint64_t offset, std::span<const std::byte> bytes);
  Status read(StorageId storage, uint64_t offset, std::span<std::byte> bytes);

  // Runs all splits; `cancelled` is asked between them. Errors: cancelled; unimplemented with *refusal filled in.
  Status run(bp_run_id run, const std::function<bool()>& cancelled, RunStatistics& statistics, Refusal* refusal);

 private:
  struct Spot {
    Buffer* buffer = nullptr;
    uint64_t offset = 0;
  };
  struct CompiledSplit {
    Subgraph graph;
    Program program;                   // empty: the bound graph is submitted
    std::vector<bp_binding> bindings;  // of the program
  };

  Executor(std::shared_ptr<const Plan> plan, std::vector<Device*> devices);
  Status allocate_pools();
  Status place_state(StorageId storage, uint32_t device);
  Status place_constants();
  Status place_constant(StorageId storage, uint32_t device);
  Status clear_states();
  Result<Spot> spot(StorageId storage, uint32_t device);
  Result<Buffer*> imported(Buffer& owner, uint32_t device);
  Status compile(uint32_t split, Refusal* refusal);
  Status bind(CompiledSplit& compiled, uint32_t device);
  Status copy(const PlannedCopy& planned);
  Status submit(uint32_t split, bp_run_id run);

  std::shared_ptr<const Plan> plan_;
  std::vector<Device*> devices_;
  std::vector<std::vector<Buffer>> pools_;  // by pool, chunk
  std::vector<std::unique_ptr<Buffer>> constants_;
  std::map<std::pair<Buffer*, uint32_t>, Buffer> imports_;  // (owner's chunk, reader) -> the reader's view of it
  std::map<std::pair<StorageId, uint32_t>, Spot> spots_;    // (storage, device) -> where
  std::vector<Stream> streams_;                             // by device
  std::vector<CompiledSplit> splits_;
};

}  // namespace backplane
