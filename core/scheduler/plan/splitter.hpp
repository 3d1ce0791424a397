// Splitter: cuts the placed nodes where the device changes, and finds the copies between the pieces.
//
// Each part of a storage is copied at most once to a device that cannot read it in place, and again only after it was
// written anew. A device that cannot write a storage where it is writes a copy, which is then written back.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backplane/scheduler/plan.hpp"
#include "scheduler/plan/capability.hpp"
#include "scheduler/plan/instances.hpp"

namespace backplane {

// A constant this small is put on the device that reads it, once, wherever it is located, if options.soft_weights.
inline constexpr uint64_t kReplicatedBytes = 64 * 1024;

// Instances that lie beside each other, each at an offset from the first.
struct InstanceGroup {
  struct Member {
    uint32_t instance;
    uint64_t offset;
  };
  std::vector<Member> members;
  uint64_t bytes;
};

struct SplitResult {
  std::vector<Split> splits;
  std::vector<PlannedCopy> copies;  // by split; those before it, then those written back after it
  std::vector<uint32_t> home;       // by storage, as Plan::homes
  InstanceMap instances{0};         // also of constants: at home if located, else on each device that reads them

  std::vector<InstanceGroup> groups;  // filled in by batch_inputs; each instance is in one at most

  uint64_t copy_bytes() const;
  // Where a device finds a storage: its own copy if it has one, else the home.
  uint32_t instance_on(StorageId storage, uint32_t device) const {
    const uint32_t away = home[storage] == device ? kNone : instances.find(storage, device);
    return away == kNone ? storage : away;
  }
};

struct SplitInput {
  const Graph& graph;
  const Capability& capability;
  const PlanOptions& options;
  const std::vector<uint32_t>& located;  // by storage, as in PlacementInput
  std::span<const Placement> placements;
  std::span<const NodeId> order;
};

SplitResult split_graph(const SplitInput& input);

}  // namespace backplane
