#include "scheduler/memory/event_order_fit.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

namespace backplane {
namespace {

// The free parts of one endless buffer.
class FreeList {
 public:
  // The smallest gap that fits and among those the lowest, else the end.
  uint64_t take(uint64_t bytes) {
    const auto found = by_bytes_.lower_bound({bytes, 0});
    if (found == by_bytes_.end()) return take_end(bytes);
    const auto [room, address] = *found;
    erase(by_address_.find(address));
    if (room > bytes) insert(address + bytes, room - bytes);
    return address;
  }
  void give(uint64_t address, uint64_t bytes) {
    auto next = by_address_.lower_bound(address);
    if (next != by_address_.end() && next->first == address + bytes) {
      bytes += next->second;
      next = erase(next);
    }
    if (next != by_address_.begin() && std::prev(next)->first + std::prev(next)->second == address) {
      address = std::prev(next)->first;
      bytes += std::prev(next)->second;
      erase(std::prev(next));
    }
    insert(address, bytes);
  }
  uint64_t end() const { return end_; }
  size_t gap_count() const { return by_address_.size(); }

 private:
  using ByAddress = std::map<uint64_t, uint64_t>;  // address -> bytes

  uint64_t take_end(uint64_t bytes) {
    uint64_t address = end_;
    if (!by_address_.empty() && by_address_.rbegin()->first + by_address_.rbegin()->second == end_) {
      address = by_address_.rbegin()->first;
      erase(std::prev(by_address_.end()));
    }
    end_ = address + bytes;
    return address;
  }
  void insert(uint64_t address, uint64_t bytes) {
    by_address_.emplace(address, bytes);
    by_bytes_.emplace(bytes, address);
  }
  ByAddress::iterator erase(ByAddress::iterator gap) {
    by_bytes_.erase({gap->second, gap->first});
    return by_address_.erase(gap);
  }

  ByAddress by_address_;
  std::set<std::pair<uint64_t, uint64_t>> by_bytes_;  // bytes, address
  uint64_t end_ = 0;
};

// Blocks in the order of their last section.
std::vector<uint32_t> order_by_last(const LiveBytes& live) {
  std::vector<uint32_t> next(size_t{live.section_count()} + 1, 0), order(live.size());
  for (const LiveBytes::Block& block : live.blocks()) ++next[block.last + 1];
  for (size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  for (uint32_t i = 0; i < live.size(); ++i) order[next[live.blocks()[i].last]++] = i;
  return order;
}

}  // namespace

Arrangement fit_in_event_order(const LiveBytes& live, uint64_t limit, WorkBudget& work) {
  const std::vector<LiveBytes::Block>& blocks = live.blocks();
  const std::vector<uint32_t> by_last = order_by_last(live);
  Arrangement result{std::vector<uint64_t>(blocks.size()), 0};
  FreeList list;
  size_t dead = 0;
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    for (; blocks[by_last[dead]].last < blocks[i].first; ++dead)
      list.give(result.addresses[by_last[dead]], blocks[by_last[dead]].bytes);
    result.addresses[i] = list.take(blocks[i].bytes);
    work.spend(4 * static_cast<uint64_t>(std::bit_width(list.gap_count())));
    if (list.end() > limit) return {};
  }
  result.peak = list.end();
  return result;
}

}  // namespace backplane
