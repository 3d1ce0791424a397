#include "scheduler/memory/live_bytes.hpp"

#include <algorithm>
#include <bit>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 62;

// Steps are numbered densely if they are few for the number of blocks, which spares the sort.
constexpr uint64_t kStepsPerBlock = 16;

// Steps -> the number of the last section that has begun by then.
class Sections {
 public:
  explicit Sections(std::span<const MemoryBlock> blocks) {
    uint64_t steps = 0;
    for (const MemoryBlock& block : blocks) steps = std::max<uint64_t>(steps, uint64_t{block.last} + 1);
    if (steps <= kStepsPerBlock * blocks.size())
      number_densely(blocks, steps);
    else
      sort(blocks);
  }
  uint32_t count() const { return count_; }
  uint32_t at(uint32_t step) const {
    if (!by_step_.empty()) return by_step_[step];
    return static_cast<uint32_t>(std::ranges::upper_bound(firsts_, step) - firsts_.begin()) - 1;
  }

 private:
  void number_densely(std::span<const MemoryBlock> blocks, uint64_t steps) {
    by_step_.assign(steps, 0);
    for (const MemoryBlock& block : blocks)
      if (block.bytes != 0) by_step_[block.first] = 1;
    for (uint32_t& section : by_step_) section = (count_ += section) - 1;
  }
  void sort(std::span<const MemoryBlock> blocks) {
    for (const MemoryBlock& block : blocks)
      if (block.bytes != 0) firsts_.push_back(block.first);
    std::ranges::sort(firsts_);
    firsts_.erase(std::unique(firsts_.begin(), firsts_.end()), firsts_.end());
    count_ = static_cast<uint32_t>(firsts_.size());
  }

  std::vector<uint32_t> by_step_;  // empty if there are too many steps
  std::vector<uint32_t> firsts_;   // then: the first steps, sorted
  uint32_t count_ = 0;
};

Result<uint64_t> rounded_up(uint64_t bytes, uint64_t alignment, size_t block) {
  if (bytes > kMostBytes)
    return invalid_argument(cat("memory block ", block, " of ", bytes, " bytes is larger than any memory"));
  return (bytes + alignment - 1) & ~(alignment - 1);
}

// The bytes alive in each section, of what `bytes` says of a block.
template <class Bytes>
std::vector<uint64_t> sum_live(const std::vector<LiveBytes::Block>& blocks, uint32_t sections, const Bytes& bytes) {
  std::vector<uint64_t> live(size_t{sections} + 1, 0);  // differences at first; they wrap, and their sums do not
  for (const LiveBytes::Block& block : blocks) {
    live[block.first] += bytes(block);
    live[block.last + 1] -= bytes(block);
  }
  for (uint32_t section = 1; section <= sections; ++section) live[section] += live[section - 1];
  live.pop_back();
  return live;
}

uint64_t largest(const std::vector<uint64_t>& values) { return values.empty() ? 0 : *std::ranges::max_element(values); }

// The largest value of any range, by a tree of maxima over the values.
class RangeMaximum {
 public:
  explicit RangeMaximum(const std::vector<uint64_t>& values)
      : leaves_(std::bit_ceil(std::max<size_t>(values.size(), 1))), maxima_(2 * leaves_, 0) {
    std::ranges::copy(values, maxima_.begin() + static_cast<ptrdiff_t>(leaves_));
    for (size_t i = leaves_ - 1; i > 0; --i) maxima_[i] = std::max(maxima_[2 * i], maxima_[2 * i + 1]);
  }
  uint64_t of(size_t first, size_t last) const {
    uint64_t most = 0;
    for (first += leaves_, last += leaves_ + 1; first < last; first /= 2, last /= 2) {
      if ((first & 1) != 0) most = std::max(most, maxima_[first++]);
      if ((last & 1) != 0) most = std::max(most, maxima_[--last]);
    }
    return most;
  }

 private:
  size_t leaves_;
  std::vector<uint64_t> maxima_;
};

}  // namespace

Result<LiveBytes> LiveBytes::make(std::span<const MemoryBlock> blocks, uint64_t alignment) {
  for (size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i].last < blocks[i].first)
      return invalid_argument(
          cat("memory block ", i, " ends in step ", blocks[i].last, ", before it begins in step ", blocks[i].first));
  const Sections sections(blocks);
  LiveBytes result;
  result.alignment_ = alignment;
  result.begins_.assign(size_t{sections.count()} + 1, 0);
  for (const MemoryBlock& block : blocks)
    if (block.bytes != 0) ++result.begins_[sections.at(block.first) + 1];
  for (size_t section = 1; section < result.begins_.size(); ++section)
    result.begins_[section] += result.begins_[section - 1];
  std::vector<uint32_t> next(result.begins_.begin(), result.begins_.end() - 1);
  result.blocks_.resize(result.begins_.back());
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].bytes == 0) continue;
    BP_TRY_ASSIGN(const uint64_t bytes, rounded_up(blocks[i].bytes, alignment, i));
    const uint32_t first = sections.at(blocks[i].first);
    result.blocks_[next[first]++] = {first, sections.at(blocks[i].last), bytes, blocks[i].bytes,
                                     static_cast<uint32_t>(i)};
    result.total_bytes_ += bytes;
    if (result.total_bytes_ > kMostBytes)
      return invalid_argument(cat("the memory blocks of one pool add up to more than ", kMostBytes, " bytes"));
  }
  result.live_ = sum_live(result.blocks_, sections.count(), [](const Block& block) { return block.bytes; });
  result.most_ = largest(result.live_);
  result.most_bare_ =
      largest(sum_live(result.blocks_, sections.count(), [](const Block& block) { return block.bare_bytes; }));
  return result;
}

std::vector<uint64_t> LiveBytes::most_by_block() const {
  const RangeMaximum live(live_);
  std::vector<uint64_t> most(blocks_.size());
  for (size_t i = 0; i < blocks_.size(); ++i) most[i] = live.of(blocks_[i].first, blocks_[i].last);
  return most;
}

uint64_t LiveBytes::pair_count() const {
  uint64_t pairs = 0;
  for (uint32_t i = 0; i < size(); ++i) pairs += begins_[blocks_[i].last + 1] - i - 1;
  return pairs;
}

}  // namespace backplane
