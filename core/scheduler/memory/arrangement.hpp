// Arrangement: addresses that one of the planner's methods has found, and the work that it may spend on that.
// Thread safety: as an int.
#pragma once

#include <cstdint>
#include <vector>

namespace backplane {

struct Arrangement {
  std::vector<uint64_t> addresses;  // by block of LiveBytes
  uint64_t peak = UINT64_MAX;       // bytes
};

// Comparisons, roughly: counted instead of time, so that plans are the same on every machine.
class WorkBudget {
 public:
  explicit WorkBudget(uint64_t limit) : limit_(limit) {}

  void spend(uint64_t comparisons) { spent_ += comparisons; }
  bool allows(uint64_t comparisons) const { return spent_ + comparisons <= limit_; }
  bool exhausted() const { return spent_ > limit_; }
  uint64_t spent() const { return spent_; }
  uint64_t left() const { return exhausted() ? 0 : limit_ - spent_; }

 private:
  uint64_t limit_;
  uint64_t spent_ = 0;
};

}  // namespace backplane
