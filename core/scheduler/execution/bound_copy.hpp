// BoundCopy: one planned copy, or some that are one transfer, with their memory, and how that is best done.
//
// The lane of the target does it: queued in its stream where the source is host memory or the two devices reach each
// other, else by the host, which waits for both sides first. Thread safety: as the lane of the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/scheduler/plan.hpp"
#include "scheduler/execution/bound_memory.hpp"
#include "scheduler/execution/lane.hpp"
#include "scheduler/execution/used_rows.hpp"
#include "scheduler/plan/region.hpp"

namespace backplane {

class BoundCopy {
 public:
  // `transfer`: as transfer_at gives it.
  BoundCopy(const Plan& plan, std::span<const PlannedCopy> transfer, const BoundMemory& memory, const Device& target);

  // Whether the source must be ready before `run` is called, rather than before what the stream does next.
  bool needs_ready_source() const { return !queued_ || from_is_foreign_ || rows_; }
  // Bytes of host memory that `run` wants for staging.
  uint64_t staging_bytes() const;
  // Does the copy, or queues it. Returns the bytes. Errors: out_of_range for an index of no row.
  Result<uint64_t> run(Lane& target, uint32_t slot, std::span<std::byte> staging);

  Spot from(uint32_t slot) const { return spots_[slot].from; }
  Spot to(uint32_t slot) const { return spots_[slot].to; }

 private:
  struct Ends {
    Spot from, to;
    Spot indices;  // if only some rows are copied, and these are not a constant
  };
  Status copy(Lane& target, const Ends& ends, const Region& region, std::span<std::byte> staging);
  Result<uint64_t> copy_rows(Lane& target, const Ends& ends, std::span<std::byte> staging);
  Status queue(Lane& target, const Ends& ends, const Region& region);
  static Status copy_now(const Ends& ends, const Region& region, std::span<std::byte> staging);

  const PlannedCopy& planned_;    // the first of the transfer
  Region region_;                 // from what it begins with
  std::vector<Ends> spots_;       // by slot
  std::optional<UsedRows> rows_;  // which to copy, if not all
  bool queued_ = false;           // in the target's stream
  bool from_is_foreign_ = false;  // to the target's plugin
};

}  // namespace backplane
