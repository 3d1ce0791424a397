#include "scheduler/memory/neighbours.hpp"

namespace backplane {

Neighbours::Neighbours(const LiveBytes& live) : live_(live) {
  const std::vector<LiveBytes::Block>& blocks = live.blocks();
  alive_at_.reserve(blocks.size() + 1);
  alive_.reserve(live.pair_count());
  std::vector<uint32_t> alive;
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    std::erase_if(alive, [&](uint32_t other) { return blocks[other].last < blocks[i].first; });
    alive_at_.push_back(static_cast<uint32_t>(alive_.size()));
    alive_.insert(alive_.end(), alive.begin(), alive.end());
    alive.push_back(i);
  }
  alive_at_.push_back(static_cast<uint32_t>(alive_.size()));
}

}  // namespace backplane
