#include "scheduler/memory/first_fit.hpp"

#include <algorithm>
#include <bit>

namespace backplane {
namespace {

constexpr uint64_t kNowhere = UINT64_MAX;

// Listing more pairs than this takes too much memory (four bytes each).
constexpr uint64_t kMostPairs = uint64_t{1} << 25;

// Sorting neighbours takes k log k for each block, looking through those placed about n / 6.
bool is_dense(const LiveBytes& live) {
  const uint64_t pairs = live.pair_count(), count = std::max<uint64_t>(live.size(), 1);
  return pairs > kMostPairs || 2 * pairs * std::bit_width(2 * pairs / count) > count * count / 6;
}

// Finds the lowest gap for a block in places that are given by rising begin.
class GapSearch {
 public:
  GapSearch(const LiveBytes::Block& block, const ChunkRule& rule) : block_(block), rule_(rule) {}

  // Goes past a place; false = there is room before it.
  bool pass(uint64_t begin, uint64_t end) {
    if (begin >= address_ + block_.bytes) return false;
    if (end > address_) move_to(end);
    return true;
  }
  uint64_t address() const { return address_; }

 private:
  void move_to(uint64_t address) {
    const bool fits = rule_.offset(address) + block_.bare_bytes <= rule_.max_bytes;
    address_ = fits ? address : (address / rule_.stride + 1) * rule_.stride;
  }

  const LiveBytes::Block& block_;
  const ChunkRule& rule_;
  uint64_t address_ = 0;
};

}  // namespace

ChunkRule ChunkRule::of(uint64_t max_bytes, uint64_t alignment) {
  return {max_bytes, (max_bytes + alignment - 1) & ~(alignment - 1)};
}

FirstFit::FirstFit(const LiveBytes& live, ChunkRule rule) : live_(live), rule_(rule) {
  if (!is_dense(live)) neighbours_.emplace(live);
}

uint64_t FirstFit::find_among_neighbours(uint32_t block, uint64_t* comparisons) {
  const std::vector<LiveBytes::Block>& blocks = live_.blocks();
  spans_.clear();
  neighbours_->for_each(block, [&](uint32_t other) {
    if (addresses_[other] != kNowhere) spans_.emplace_back(addresses_[other], addresses_[other] + blocks[other].bytes);
  });
  std::ranges::sort(spans_);
  *comparisons += neighbours_->count(block) + 1 + spans_.size() * static_cast<uint64_t>(std::bit_width(spans_.size()));
  GapSearch search(blocks[block], rule_);
  for (const auto& [begin, past] : spans_)
    if (!search.pass(begin, past)) break;
  return search.address();
}

uint64_t FirstFit::find_among_all(uint32_t block, uint64_t* comparisons) const {
  const LiveBytes::Block& wanted = live_.blocks()[block];
  GapSearch search(wanted, rule_);
  size_t i = 0;
  for (; i < taken_.size(); ++i)
    if (taken_[i].first <= wanted.last && wanted.first <= taken_[i].last &&
        !search.pass(taken_[i].begin, taken_[i].end))
      break;
  *comparisons += i + 1;
  return search.address();
}

void FirstFit::put(uint32_t block, uint64_t address, uint64_t* comparisons) {
  addresses_[block] = address;
  if (neighbours_) return;
  const LiveBytes::Block& placed = live_.blocks()[block];
  const auto at = std::ranges::upper_bound(taken_, address, {}, &Taken::begin);
  *comparisons += static_cast<uint64_t>(taken_.end() - at) / 8;  // these are moved, a few at a time
  taken_.insert(at, {address, address + placed.bytes, placed.first, placed.last});
}

uint64_t FirstFit::grow_chunk(uint32_t block, uint64_t address) {
  const uint32_t chunk = rule_.chunk(address);
  if (chunk >= chunk_bytes_.size()) chunk_bytes_.resize(size_t{chunk} + 1, 0);
  const uint64_t end = std::min(rule_.offset(address) + live_.blocks()[block].bytes, rule_.max_bytes);
  if (end > chunk_bytes_[chunk]) {
    peak_ += end - chunk_bytes_[chunk];
    chunk_bytes_[chunk] = end;
  }
  return peak_;
}

Arrangement FirstFit::place(std::span<const uint32_t> order, uint64_t give_up, WorkBudget& work) {
  addresses_.assign(live_.size(), kNowhere);
  chunk_bytes_.clear();
  taken_.clear();
  peak_ = 0;
  for (const uint32_t block : order) {
    uint64_t comparisons = 0;
    const uint64_t address =
        neighbours_ ? find_among_neighbours(block, &comparisons) : find_among_all(block, &comparisons);
    put(block, address, &comparisons);
    work.spend(comparisons);
    if (grow_chunk(block, address) >= give_up || work.exhausted()) return {};
  }
  return {addresses_, peak_};
}

}  // namespace backplane
