#include "scheduler/memory/memory_planner.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

// Above this many blocks the quadratic method is not tried.
constexpr size_t kSizeOrderLimit = 4096;

Result<std::vector<uint64_t>> rounded_sizes(std::span<const MemoryBlock> blocks, const MemoryLimits& limits) {
  std::vector<uint64_t> sizes(blocks.size());
  uint64_t total = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (__builtin_add_overflow(blocks[i].bytes, limits.alignment - 1, &sizes[i]))
      return invalid_argument(cat("memory block ", i, " of ", blocks[i].bytes, " bytes overflows when aligned"));
    sizes[i] &= ~(limits.alignment - 1);
    if (__builtin_add_overflow(total, sizes[i], &total))
      return invalid_argument("the memory blocks of one pool add up to more than 2^64 bytes");
    if (limits.max_chunk_bytes != 0 && blocks[i].bytes > limits.max_chunk_bytes)
      return resource_exhausted(cat("block ", i, " wants ", blocks[i].bytes, " bytes, and the largest buffer is ",
                                    limits.max_chunk_bytes, " bytes"),
                                "memory.block-too-large");
  }
  return sizes;
}

// Indices of blocks in the order of their first step, and in that of their last.
struct Timeline {
  std::vector<uint32_t> by_first, by_last;
};

Timeline make_timeline(std::span<const MemoryBlock> blocks) {
  Timeline timeline;
  timeline.by_first.resize(blocks.size());
  std::iota(timeline.by_first.begin(), timeline.by_first.end(), 0u);
  timeline.by_last = timeline.by_first;
  std::ranges::stable_sort(timeline.by_first, {}, [&](uint32_t i) { return blocks[i].first; });
  std::ranges::stable_sort(timeline.by_last, {}, [&](uint32_t i) { return blocks[i].last; });
  return timeline;
}

// Walks the steps: `end(i)` for blocks that died before block `i` begins, then `begin(i)`.
template <class Begin, class End>
void replay(std::span<const MemoryBlock> blocks, const Timeline& timeline, Begin begin, End end) {
  size_t dead = 0;
  for (const uint32_t i : timeline.by_first) {
    while (dead < blocks.size() && blocks[timeline.by_last[dead]].last < blocks[i].first) end(timeline.by_last[dead++]);
    begin(i);
  }
}

uint64_t most_alive(std::span<const MemoryBlock> blocks, const std::vector<uint64_t>& sizes, const Timeline& timeline) {
  uint64_t alive = 0, most = 0;
  replay(
      blocks, timeline, [&](uint32_t i) { most = std::max(most, alive += sizes[i]); },
      [&](uint32_t i) { alive -= sizes[i]; });
  return most;
}

// The free parts of one endless chunk, for planning in the order of time.
class FreeList {
 public:
  // The smallest gap that fits, else the end.
  uint64_t take(uint64_t size) {
    auto best = gaps_.end();
    for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap)
      if (gap->second >= size && (best == gaps_.end() || gap->second < best->second)) best = gap;
    if (best == gaps_.end()) return take_end(size);
    const auto [offset, room] = *best;
    gaps_.erase(best);
    if (room > size) gaps_.emplace(offset + size, room - size);
    return offset;
  }
  void give(uint64_t offset, uint64_t size) {
    if (size == 0) return;
    auto next = gaps_.lower_bound(offset);
    if (next != gaps_.end() && next->first == offset + size) {
      size += next->second;
      next = gaps_.erase(next);
    }
    if (next != gaps_.begin() && std::prev(next)->first + std::prev(next)->second == offset) {
      std::prev(next)->second += size;
    } else {
      gaps_.emplace_hint(next, offset, size);
    }
  }
  uint64_t end() const { return end_; }

 private:
  uint64_t take_end(uint64_t size) {
    uint64_t offset = end_;
    if (!gaps_.empty() && gaps_.rbegin()->first + gaps_.rbegin()->second == end_) {
      offset = gaps_.rbegin()->first;
      gaps_.erase(std::prev(gaps_.end()));
    }
    end_ = offset + size;
    return offset;
  }

  std::map<uint64_t, uint64_t> gaps_;  // offset -> bytes
  uint64_t end_ = 0;
};

struct Candidate {
  std::vector<uint64_t> offsets;
  uint64_t peak = 0;
};

Candidate in_time_order(std::span<const MemoryBlock> blocks, const std::vector<uint64_t>& sizes,
                        const Timeline& timeline) {
  Candidate result{std::vector<uint64_t>(blocks.size()), 0};
  FreeList list;
  replay(
      blocks, timeline, [&](uint32_t i) { result.offsets[i] = sizes[i] == 0 ? 0 : list.take(sizes[i]); },
      [&](uint32_t i) { list.give(result.offsets[i], sizes[i]); });
  result.peak = list.end();
  return result;
}

bool alive_together(const MemoryBlock& a, const MemoryBlock& b) { return a.first <= b.last && b.first <= a.last; }

// The lowest offset at which block `i` is clear of the blocks placed before it, which are sorted by offset.
uint64_t first_fit(std::span<const MemoryBlock> blocks, const std::vector<uint64_t>& sizes,
                   const std::vector<uint64_t>& offsets, const std::vector<uint32_t>& placed, uint32_t i) {
  uint64_t offset = 0;
  for (const uint32_t other : placed) {
    if (!alive_together(blocks[i], blocks[other])) continue;
    if (offsets[other] >= offset + sizes[i]) break;
    offset = std::max(offset, offsets[other] + sizes[other]);
  }
  return offset;
}

// Places block `i` and keeps `placed` sorted by offset.
void place(std::vector<uint64_t>& offsets, std::vector<uint32_t>& placed, uint32_t i, uint64_t offset) {
  offsets[i] = offset;
  placed.insert(std::ranges::upper_bound(placed, offset, {}, [&](uint32_t other) { return offsets[other]; }), i);
}

std::vector<uint32_t> size_order(const std::vector<uint64_t>& sizes) {
  std::vector<uint32_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, std::greater<>(), [&](uint32_t i) { return sizes[i]; });
  return order;
}

Candidate in_size_order(std::span<const MemoryBlock> blocks, const std::vector<uint64_t>& sizes) {
  Candidate result{std::vector<uint64_t>(blocks.size()), 0};
  std::vector<uint32_t> placed;
  for (const uint32_t i : size_order(sizes)) {
    if (sizes[i] == 0) continue;
    place(result.offsets, placed, i, first_fit(blocks, sizes, result.offsets, placed, i));
    result.peak = std::max(result.peak, result.offsets[i] + sizes[i]);
  }
  return result;
}

// Largest first into the first chunk that has room; a new chunk when none has.
MemoryPlan in_chunks(std::span<const MemoryBlock> blocks, const std::vector<uint64_t>& sizes, uint64_t max_bytes) {
  MemoryPlan plan;
  plan.places.resize(blocks.size());
  plan.chunk_bytes.assign(1, 0);
  std::vector<uint64_t> offsets(blocks.size());
  std::vector<std::vector<uint32_t>> placed(1);
  for (const uint32_t i : size_order(sizes)) {
    uint32_t chunk = 0;
    uint64_t offset = 0;
    for (;; ++chunk) {
      if (chunk == placed.size()) placed.emplace_back(), plan.chunk_bytes.push_back(0);
      offset = first_fit(blocks, sizes, offsets, placed[chunk], i);
      if (offset + blocks[i].bytes <= max_bytes) break;
    }
    if (sizes[i] != 0) place(offsets, placed[chunk], i, offset);
    plan.places[i] = {chunk, offset};
    plan.chunk_bytes[chunk] = std::max(plan.chunk_bytes[chunk], offset + blocks[i].bytes);
  }
  return plan;
}

std::vector<uint64_t> bare_sizes(std::span<const MemoryBlock> blocks) {
  std::vector<uint64_t> sizes;
  for (const MemoryBlock& block : blocks) sizes.push_back(block.bytes);
  return sizes;
}

MemoryPlan in_one_chunk(const Candidate& candidate) {
  MemoryPlan plan;
  for (const uint64_t offset : candidate.offsets) plan.places.push_back({0, offset});
  plan.chunk_bytes = {candidate.peak};
  return plan;
}

}  // namespace

Result<MemoryPlan> plan_memory(std::span<const MemoryBlock> blocks, const MemoryLimits& limits) {
  BP_TRY_ASSIGN(const std::vector<uint64_t> sizes, rounded_sizes(blocks, limits));
  const Timeline timeline = make_timeline(blocks);
  const uint64_t bound = most_alive(blocks, sizes, timeline);
  Candidate best = in_time_order(blocks, sizes, timeline);
  if (best.peak > bound && blocks.size() <= kSizeOrderLimit) {
    Candidate other = in_size_order(blocks, sizes);
    if (other.peak < best.peak) best = std::move(other);
  }
  const bool fits = limits.max_chunk_bytes == 0 || best.peak <= limits.max_chunk_bytes;
  MemoryPlan plan = fits ? in_one_chunk(best) : in_chunks(blocks, sizes, limits.max_chunk_bytes);
  // The last block of each chunk is not padded, so that with several of them only the bare sizes are a bound.
  plan.lower_bound_bytes = fits ? bound : most_alive(blocks, bare_sizes(blocks), timeline);
  plan.peak_bytes = std::accumulate(plan.chunk_bytes.begin(), plan.chunk_bytes.end(), uint64_t{0});
  return plan;
}

}  // namespace backplane
