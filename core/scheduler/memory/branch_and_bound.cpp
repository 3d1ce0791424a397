#include "scheduler/memory/branch_and_bound.hpp"

#include <algorithm>
#include <optional>

namespace backplane {
namespace {

class Search {
 public:
  Search(const LiveBytes& live, uint64_t capacity, std::span<const uint32_t> order, WorkBudget& work)
      : blocks_(live.blocks()),
        capacity_(capacity),
        order_(order),
        work_(work),
        floors_(live.section_count(), 0),
        missing_(live.by_section()),
        lowest_(live.size(), 0),
        ranks_(live.size()),
        placed_(live.size(), false) {
    for (uint32_t rank = 0; rank < order.size(); ++rank) ranks_[order[rank]] = rank;
  }

  bool run() {
    if (blocks_.empty()) return true;
    open_level(kNone);
    while (!levels_.empty()) {
      Level& level = levels_.back();
      if (level.next == level.candidates.size() || work_.exhausted()) {
        if (work_.exhausted()) return false;
        close_level();
        continue;
      }
      const uint32_t block = level.candidates[level.next++];
      if (!put(block)) {
        take_back();
        continue;
      }
      if (levels_.size() == blocks_.size()) return true;
      open_level(block);
    }
    return false;
  }
  std::vector<uint64_t> addresses() const { return lowest_; }

 private:
  struct Level {
    std::vector<uint32_t> candidates;  // by rising address
    size_t next = 0;
    uint32_t block = kNone;       // the one that is tried
    size_t first_old_floor = 0;   // into old_floors_
    size_t first_old_lowest = 0;  // into old_lowest_
  };
  struct Old {
    uint32_t at;
    uint64_t value;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  // The blocks that may come after `previous`. They are not below it, and of those beside it only later ranks, as the
  // order of two at one address does not matter. One above the top of another would leave a hole which that other
  // fills.
  void open_level(uint32_t previous) {
    const uint64_t address = previous == kNone ? 0 : lowest_[previous];
    const auto may_follow = [&](uint32_t i) {
      return previous == kNone || lowest_[i] > address || (lowest_[i] == address && ranks_[i] > ranks_[previous]);
    };
    Level level;
    uint64_t least_top = UINT64_MAX;
    for (uint32_t i = 0; i < blocks_.size(); ++i)
      if (!placed_[i]) least_top = std::min(least_top, std::max(lowest_[i], address) + blocks_[i].bytes);
    for (const uint32_t i : order_)
      if (!placed_[i] && lowest_[i] < least_top && may_follow(i)) level.candidates.push_back(i);
    std::ranges::stable_sort(level.candidates, {}, [&](uint32_t i) { return lowest_[i]; });
    work_.spend(blocks_.size());
    levels_.push_back(std::move(level));
  }

  void close_level() {
    levels_.pop_back();
    if (!levels_.empty()) take_back();
  }

  // Places a block on what is below it; false = that cannot lead to a solution.
  bool put(uint32_t block) {
    Level& level = levels_.back();
    level.block = block;
    level.first_old_floor = old_floors_.size();
    level.first_old_lowest = old_lowest_.size();
    placed_[block] = true;
    const LiveBytes::Block& body = blocks_[block];
    const uint64_t address = lowest_[block], top = address + body.bytes;
    for (uint32_t section = body.first; section <= body.last; ++section) {
      old_floors_.push_back({section, floors_[section]});
      floors_[section] = top;
      missing_[section] -= body.bytes;
    }
    return top <= capacity_ && sections_can_hold(address) && raise_others(body, top);
  }

  // What is missing in each section must fit above its floor, and above the address that no block goes below any more.
  bool sections_can_hold(uint64_t address) const {
    work_.spend(floors_.size() / 8 + 1);
    for (size_t section = 0; section < floors_.size(); ++section)
      if (missing_[section] != 0 && std::max(floors_[section], address) + missing_[section] > capacity_) return false;
    return true;
  }

  bool raise_others(const LiveBytes::Block& body, uint64_t top) {
    work_.spend(blocks_.size() / 8 + 1);
    bool possible = true;
    for (uint32_t i = 0; i < blocks_.size() && blocks_[i].first <= body.last; ++i) {
      if (placed_[i] || blocks_[i].last < body.first) continue;
      old_lowest_.push_back({i, lowest_[i]});
      lowest_[i] = std::max(lowest_[i], top);
      possible = possible && lowest_[i] + blocks_[i].bytes <= capacity_;
    }
    return possible;
  }

  void take_back() {
    Level& level = levels_.back();
    const LiveBytes::Block& body = blocks_[level.block];
    for (; old_lowest_.size() > level.first_old_lowest; old_lowest_.pop_back())
      lowest_[old_lowest_.back().at] = old_lowest_.back().value;
    for (; old_floors_.size() > level.first_old_floor; old_floors_.pop_back()) {
      floors_[old_floors_.back().at] = old_floors_.back().value;
      missing_[old_floors_.back().at] += body.bytes;
    }
    placed_[level.block] = false;
  }

  const std::vector<LiveBytes::Block>& blocks_;
  const uint64_t capacity_;
  const std::span<const uint32_t> order_;
  WorkBudget& work_;
  std::vector<uint64_t> floors_;   // by section: the top of what is placed there
  std::vector<uint64_t> missing_;  // by section: the bytes of what is not placed yet
  std::vector<uint64_t> lowest_;   // by block: its address, or how low it can be
  std::vector<uint32_t> ranks_;    // by block: its place in order_
  std::vector<bool> placed_;
  std::vector<Level> levels_;
  std::vector<Old> old_floors_, old_lowest_;  // what is put back, level by level
};

}  // namespace

Arrangement search_within(const LiveBytes& live, uint64_t capacity, std::span<const uint32_t> order, WorkBudget& work) {
  if (live.most() > capacity) return {};
  Search search(live, capacity, order, work);
  if (!search.run()) return {};
  Arrangement found{search.addresses(), 0};
  for (uint32_t i = 0; i < live.size(); ++i)
    found.peak = std::max(found.peak, found.addresses[i] + live.blocks()[i].bytes);
  return found;
}

}  // namespace backplane
