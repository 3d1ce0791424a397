// Communication: which storages must be copied to which devices for a given placement, and what that costs.
//
// A storage is a directed hyperedge: it comes from one device, and each other device with a reader that cannot reach it
// there needs one copy, however many readers it has. Thread safety: none; it keeps figures of storages once asked for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/placement/costs.hpp"
#include "scheduler/placement/placement.hpp"

namespace backplane {

class Communication {
 public:
  Communication(const PlacementInput& input, const CostModel& costs);

  std::span<const NodeId> readers(StorageId storage) const {
    return {readers_.data() + first_[storage], first_[storage + 1] - first_[storage]};
  }
  // Whether copies of the storage cost anything at all: not those of a constant that is put on each device once.
  bool is_copied(StorageId storage) const { return origin_[storage] != kNowhere; }
  // The node that decides where it comes from; kNone if no node does.
  NodeId producer(StorageId storage) const { return origin_[storage] == kOfWriter ? writers_[storage] : kNone; }
  // The device that it comes from, with nodes on `devices`. REQUIRES: is_copied.
  uint32_t source(StorageId storage, std::span<const uint32_t> devices) const {
    return origin_[storage] == kOfWriter ? devices[writers_[storage]] : origin_[storage];
  }
  // 0 where it can be read in place.
  int64_t copy_ns(StorageId storage, uint32_t from, uint32_t to);
  // All copies of the storage.
  int64_t storage_ns(StorageId storage, std::span<const uint32_t> devices);

  const Graph& graph() const { return graph_; }
  const Capability& capability() const { return capability_; }
  const CostModel& costs() const { return costs_; }

 private:
  static constexpr uint32_t kNowhere = kNone;
  static constexpr uint32_t kOfWriter = kNone - 1;
  uint64_t bytes(StorageId storage);

  const Graph& graph_;
  const Capability& capability_;
  const CostModel& costs_;
  std::vector<uint32_t> origin_;   // by storage: a device, or one of the above
  std::vector<NodeId> writers_;    // by storage: the first one
  std::vector<uint32_t> first_;    // by storage: into readers_
  std::vector<NodeId> readers_;    // in the order of the list; a node that reads twice stands there twice
  std::vector<uint64_t> bytes_;    // by storage: what a copy moves; UINT64_MAX = not asked for yet
  std::vector<uint64_t> counted_;  // by device: the call of storage_ns that has counted it
  uint64_t calls_ = 0;
};

}  // namespace backplane
