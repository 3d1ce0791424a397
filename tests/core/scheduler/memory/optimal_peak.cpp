#include "optimal_peak.hpp"

#include <algorithm>
#include <vector>

namespace backplane::testing {
namespace {

struct Placed {
  MemoryBlock block;
  uint64_t address;
};

bool collide(const Placed& a, const Placed& b) {
  return a.block.first <= b.block.last && b.block.first <= a.block.last && a.address < b.address + b.block.bytes &&
         b.address < a.address + a.block.bytes;
}

uint64_t lowest_address(const std::vector<Placed>& placed, const MemoryBlock& block) {
  std::vector<uint64_t> candidates = {0};
  for (const Placed& other : placed) candidates.push_back(other.address + other.block.bytes);
  std::ranges::sort(candidates);
  for (const uint64_t address : candidates)
    if (std::ranges::none_of(placed, [&](const Placed& other) { return collide({block, address}, other); }))
      return address;
  return UINT64_MAX;  // not reached: the last candidate is above all others
}

uint64_t most_alive(const std::vector<MemoryBlock>& blocks) {
  uint64_t most = 0;
  for (const MemoryBlock& at : blocks) {
    uint64_t live = 0;
    for (const MemoryBlock& block : blocks)
      if (block.first <= at.first && at.first <= block.last) live += block.bytes;
    most = std::max(most, live);
  }
  return most;
}

void try_all(std::vector<MemoryBlock>& rest, std::vector<Placed>& placed, uint64_t peak, uint64_t bound,
             uint64_t& best) {
  if (peak >= best || best == bound) return;
  if (rest.empty()) {
    best = peak;
    return;
  }
  for (size_t i = 0; i < rest.size(); ++i) {
    std::swap(rest[i], rest.back());
    const MemoryBlock block = rest.back();
    rest.pop_back();
    placed.push_back({block, lowest_address(placed, block)});
    try_all(rest, placed, std::max(peak, placed.back().address + block.bytes), bound, best);
    placed.pop_back();
    rest.push_back(block);
    std::swap(rest[i], rest.back());
  }
}

}  // namespace

uint64_t optimal_peak(std::span<const MemoryBlock> blocks) {
  std::vector<MemoryBlock> rest(blocks.begin(), blocks.end());
  std::erase_if(rest, [](const MemoryBlock& block) { return block.bytes == 0; });
  std::vector<Placed> placed;
  uint64_t best = UINT64_MAX;
  try_all(rest, placed, 0, most_alive(rest), best);
  return best;
}

}  // namespace backplane::testing
