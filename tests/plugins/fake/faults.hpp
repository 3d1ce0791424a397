// Counts the calls of one device and says which of them fail. Thread safety: any thread.
#pragma once

#include <mutex>
#include <vector>

#include "call_kind.hpp"

namespace fake {

// Not a code of the ABI: the work hangs until its run is cancelled.
inline constexpr bp_code kHang = -1000;

struct Fault {
  CallKind kind;
  uint64_t call;  // the call-th of its kind, from 1
  bp_code code;   // BP_E_DEVICE_LOST loses the device
};

class Faults {
 public:
  explicit Faults(std::vector<Fault> faults) : faults_(std::move(faults)) {}

  // Counts a call and returns what is to befall it: BP_OK, an error, or kHang.
  bp_code next(CallKind kind);
  // Plans a fault for the `ahead`-th call of a kind from now; 0 takes all faults back.
  void set(CallKind kind, uint64_t ahead, bp_code code);
  // Calls of a kind since the last reset.
  uint64_t calls(CallKind kind) const;
  // Begins to count anew; planned faults stay as far ahead as they were.
  void reset();

 private:
  mutable std::mutex mutex_;
  std::array<uint64_t, BP_FAKE_CALL_KINDS> calls_{};
  std::vector<Fault> faults_;
};

}  // namespace fake
