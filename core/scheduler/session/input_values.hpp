// InputValues: which run's memory has the newest value of each graph input, and copies of it where it is missing.
//
// Thread safety: serialised by the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/graph.hpp"
#include "scheduler/execution/executor.hpp"

namespace backplane {

class InputValues {
 public:
  // Forgets all values. `keep_copies`: the values must outlive the devices that hold them.
  void reset(const Graph& graph, bool keep_copies);

  // Takes a new value into the memory of the next run.
  Status set(Executor& executor, StorageId storage, std::span<const std::byte> bytes);
  // Brings all values to the memory of the next run. REQUIRES: missing() is empty.
  Status complete(Executor& executor, const Graph& graph);
  // Values on the host, to be put into another executor.
  using Snapshot = std::vector<std::vector<std::byte>>;  // by input; empty for those never set
  // The values that the run in `slot` has. Those on a device that `is_lost` are taken from the copies;
  // failed_precondition where there is none.
  Result<Snapshot> save(Executor& from, const Graph& graph, uint32_t slot, const std::vector<bool>& is_lost);
  // The newest values.
  Result<Snapshot> save(Executor& from, const Graph& graph, const std::vector<bool>& is_lost);
  // Puts values into the memory of the next run; `newest`: they live there from now on.
  Status restore(const Snapshot& snapshot, Executor& to, bool newest);

  // The inputs that were never set, for messages; empty = none.
  std::string missing(const Graph& graph) const;

 private:
  struct Value {
    StorageId storage = kNone;
    uint64_t version = 0;                 // 0 = never set
    uint32_t slot = 0;                    // whose memory has it
    std::vector<uint64_t> slot_versions;  // what each slot's memory has
    std::vector<std::byte> copy;          // of this version, if copies are kept
  };
  static uint64_t& slot_version(Value& value, uint32_t slot);
  Status save_one(Value& value, Executor& from, const Graph& graph, uint32_t slot, const std::vector<bool>& is_lost,
                  std::vector<std::byte>& bytes);

  std::vector<Value> values_;  // by graph input
  bool keep_copies_ = false;
  std::vector<std::byte> staging_;
};

}  // namespace backplane
