#include "scheduler/memory/coarse_to_fine.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "scheduler/memory/squeaky_wheel.hpp"

namespace backplane {
namespace {

// Large is what takes at least this share of the most that is alive at once.
constexpr uint64_t kFirstShare = 32, kLastShare = 512;
constexpr size_t kFewestLarge = 8;
// For each of all blocks, to arrange the large ones.
constexpr uint64_t kComparisons = 3000;

// The large blocks, as a problem of their own.
class LargeBlocks {
 public:
  LargeBlocks(const LiveBytes& live, uint64_t least_bytes) : own_number_(live.size(), kSmall) {
    std::vector<MemoryBlock> blocks;
    for (uint32_t i = 0; i < live.size(); ++i) {
      const LiveBytes::Block& block = live.blocks()[i];
      if (block.bytes < least_bytes) continue;
      own_number_[i] = static_cast<uint32_t>(number_.size());  // both kinds of numbers rise with the first section
      number_.push_back(i);
      blocks.push_back({block.first, block.last, block.bare_bytes});
    }
    live_ = LiveBytes::make(blocks, live.alignment()).value();  // what is a part of a LiveBytes is one
  }

  size_t size() const { return number_.size(); }

  // The large blocks in an order of all blocks, arranged better if the work allows it; from the lowest address up.
  // Empty if the work of everything is spent.
  std::vector<uint32_t> arrange(const std::vector<uint32_t>& order, ChunkRule rule, WorkBudget& work) const {
    std::vector<uint32_t> own;
    for (const uint32_t block : order)
      if (own_number_[block] != kSmall) own.push_back(own_number_[block]);
    FirstFit fit(*live_, rule);
    WorkBudget share(std::min(work.left(), kComparisons * own_number_.size()));
    Arrangement best = fit.place(own, UINT64_MAX, share);
    if (best.addresses.empty()) return work.spend(share.spent()), std::vector<uint32_t>();
    Arrangement repaired = repair_order(*live_, fit, own, live_->most(), best.peak, share);
    if (repaired.peak < best.peak) best = std::move(repaired);
    work.spend(share.spent());
    std::ranges::stable_sort(own, {}, [&](uint32_t block) { return best.addresses[block]; });
    for (uint32_t& block : own) block = number_[block];
    return own;
  }

  void append_small(const std::vector<uint32_t>& order, std::vector<uint32_t>& to) const {
    std::ranges::copy_if(order, std::back_inserter(to), [&](uint32_t block) { return own_number_[block] == kSmall; });
  }

 private:
  static constexpr uint32_t kSmall = UINT32_MAX;

  std::vector<uint32_t> own_number_;  // by block: among the large ones
  std::vector<uint32_t> number_;      // by large block
  std::optional<LiveBytes> live_;
};

}  // namespace

OrderedArrangement fit_coarse_to_fine(const LiveBytes& live, FirstFit& fit, const std::vector<uint32_t>& order,
                                      uint64_t target, uint64_t give_up, WorkBudget& work) {
  OrderedArrangement best;
  best.arrangement.peak = give_up;
  std::vector<uint32_t> last = order;
  for (uint64_t share = kFirstShare; share <= kLastShare && best.arrangement.peak > target; share *= 2) {
    const LargeBlocks large(live, live.most() / share);
    work.spend(live.size());
    if (large.size() < kFewestLarge) continue;
    std::vector<uint32_t> next = large.arrange(last, fit.rule(), work);
    if (next.empty() || work.exhausted()) break;
    large.append_small(order, next);
    Arrangement arrangement = fit.place(next, UINT64_MAX, work);
    if (arrangement.peak < best.arrangement.peak) best = {std::move(arrangement), next};
    last = std::move(next);
  }
  return best.order.empty() ? OrderedArrangement() : best;
}

}  // namespace backplane
