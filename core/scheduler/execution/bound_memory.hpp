// BoundMemory: the buffers of one plan, for each run that may be in flight.
//
// Thread safety: built and changed by one thread while nothing runs; read by all lanes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/scheduler/plan.hpp"
#include "scheduler/memory/session_memory.hpp"

namespace backplane {

// Bytes in a buffer.
struct Spot {
  SharedBuffer* buffer = nullptr;
  uint64_t offset = 0;
};

class BoundMemory {
 public:
  // Allocates for `depth` runs in flight, or for fewer, at least one, where memory is short. Errors:
  // what devices report, and *failing (may be null) is the one that did.
  static Result<BoundMemory> make(const Plan& plan, const std::vector<Device*>& devices, SessionMemory& memory,
                                  uint32_t depth, uint32_t* failing);

  uint32_t depth() const { return depth_; }
  // Where a residence is for the runs of a slot.
  Spot spot(const Residence& residence, uint32_t slot) const;
  // Where kernels of a device find a storage. REQUIRES: it has a place.
  Spot spot_on(StorageId storage, uint32_t device, uint32_t slot) const {
    return spot(*plan_->residence(storage, device), slot);
  }
  // Makes this plan's places those of the states.
  Status activate_states(SessionMemory& memory) const;
  // Takes the arenas that other plans have made larger since. True if any changed.
  Result<bool> refresh(const std::vector<Device*>& devices, SessionMemory& memory);

 private:
  Status allocate_ports(const std::vector<Device*>& devices, uint32_t depth, uint32_t* failing);
  Status place_outside(const std::vector<Device*>& devices, SessionMemory& memory, uint32_t* failing);

  const Plan* plan_ = nullptr;
  uint32_t depth_ = 1;
  std::vector<std::vector<BufferRef>> pools_;  // by pool: its chunks; of ports, those of slot 0, of slot 1, ...
  std::vector<BufferRef> outside_;             // by residence; null for those in pools
};

}  // namespace backplane
