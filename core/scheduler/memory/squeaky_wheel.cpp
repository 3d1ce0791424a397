#include "scheduler/memory/squeaky_wheel.hpp"

#include <algorithm>
#include <bit>

namespace backplane {
namespace {

// A rank in the order has this many units of priority.
constexpr int64_t kUnit = 1000;
// A block that ends above the target goes ahead by a fifth of all blocks, and by up to half the higher it ends.
constexpr uint64_t kLeastBlame = 220;
constexpr uint64_t kMostBlame = 300;
// Rounds without a better peak after which no better one is expected.
constexpr uint32_t kPatience = 64;

class Wheel {
 public:
  Wheel(const LiveBytes& live, std::vector<uint32_t> order, uint64_t target)
      : live_(live), order_(std::move(order)), target_(target), priorities_(order_.size()) {
    for (size_t rank = 0; rank < order_.size(); ++rank) priorities_[order_[rank]] = static_cast<int64_t>(rank) * kUnit;
  }

  const std::vector<uint32_t>& order() const { return order_; }

  void blame(const Arrangement& arrangement) {
    for (uint32_t i = 0; i < live_.size(); ++i) {
      const uint64_t top = arrangement.addresses[i] + live_.blocks()[i].bytes;
      if (top <= target_) continue;
      const uint64_t step = target_ / kMostBlame + 1;  // avoids a product that overflows
      const uint64_t blame = kLeastBlame + std::min(kMostBlame, (top - target_) / step);
      priorities_[i] -= static_cast<int64_t>(blame * live_.size());
    }
    std::ranges::stable_sort(order_, {}, [&](uint32_t block) { return priorities_[block]; });
  }

 private:
  const LiveBytes& live_;
  std::vector<uint32_t> order_;
  const uint64_t target_;
  std::vector<int64_t> priorities_;  // by block; low = early
};

}  // namespace

Arrangement repair_order(const LiveBytes& live, FirstFit& fit, std::vector<uint32_t> order, uint64_t target,
                         uint64_t give_up, WorkBudget& work) {
  Wheel wheel(live, std::move(order), target);
  Arrangement best;
  best.peak = give_up;
  for (uint32_t idle = 0; idle < kPatience && best.peak > target; ++idle) {
    Arrangement next = fit.place(wheel.order(), UINT64_MAX, work);
    if (next.addresses.empty()) break;
    wheel.blame(next);
    work.spend(live.size() * static_cast<uint64_t>(std::bit_width(live.size())) / 4);
    if (next.peak >= best.peak) continue;
    best = std::move(next);
    idle = 0;
  }
  return best.addresses.empty() ? Arrangement() : best;
}

}  // namespace backplane
