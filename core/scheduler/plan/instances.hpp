// InstanceMap: the places where each storage is: its home, and a copy on each device that needs one.
//
// Instance i below storage_count is the home of storage i; the others are numbered as they are added.
// Thread safety: as a std::vector.
#pragma once

#include <cstdint>
#include <vector>

#include "backplane/graph/graph.hpp"

namespace backplane {

class InstanceMap {
 public:
  explicit InstanceMap(uint32_t storage_count) : first_(storage_count, kNone) {}

  uint32_t storage_count() const { return static_cast<uint32_t>(first_.size()); }
  uint32_t size() const { return storage_count() + static_cast<uint32_t>(away_.size()); }
  bool is_home(uint32_t instance) const { return instance < storage_count(); }
  StorageId storage(uint32_t instance) const { return is_home(instance) ? instance : at(instance).storage; }
  // REQUIRES: not a home.
  uint32_t device(uint32_t instance) const { return at(instance).device; }

  // The copy of a storage on a device, or kNone.
  uint32_t find(StorageId storage, uint32_t device) const {
    uint32_t i = first_[storage];
    while (i != kNone && away_[i].device != device) i = away_[i].next;
    return i == kNone ? kNone : storage_count() + i;
  }
  uint32_t find_or_add(StorageId storage, uint32_t device) {
    if (const uint32_t found = find(storage, device); found != kNone) return found;
    away_.push_back({storage, device, first_[storage]});
    first_[storage] = static_cast<uint32_t>(away_.size() - 1);
    return size() - 1;
  }

 private:
  struct Away {
    StorageId storage;
    uint32_t device;
    uint32_t next;  // of the same storage
  };
  const Away& at(uint32_t instance) const { return away_[instance - storage_count()]; }

  std::vector<uint32_t> first_;  // by storage
  std::vector<Away> away_;
};

}  // namespace backplane
