// Neighbours: which blocks are alive together with a block.
//
// What is alive as a block begins is listed, what begins during its life follows it in number. Takes four bytes for
// each pair. Thread safety: const after construction; the LiveBytes outlives it.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/memory/live_bytes.hpp"

namespace backplane {

class Neighbours {
 public:
  explicit Neighbours(const LiveBytes& live);

  template <class Visit>
  void for_each(uint32_t block, const Visit& visit) const {
    for (uint32_t i = alive_at_[block]; i < alive_at_[block + 1]; ++i) visit(alive_[i]);
    const uint32_t end = live_.first_block(live_.blocks()[block].last + 1);
    for (uint32_t other = block + 1; other < end; ++other) visit(other);
  }
  uint32_t count(uint32_t block) const {
    return alive_at_[block + 1] - alive_at_[block] + live_.first_block(live_.blocks()[block].last + 1) - block - 1;
  }

 private:
  const LiveBytes& live_;
  std::vector<uint32_t> alive_at_;  // by block: into alive_; one more at the end
  std::vector<uint32_t> alive_;     // blocks of lower number that are alive when one begins
};

}  // namespace backplane
