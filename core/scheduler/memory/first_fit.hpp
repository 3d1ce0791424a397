// FirstFit: places blocks one after another, in any order, each at the lowest address that is free all its life.
//
// Buffers of limited size stand one behind another in the addresses, and no block crosses from one to the next.
// Where so much is alive together that sorting it costs more than looking through all blocks that are placed, those are
// kept sorted instead.
// Thread safety: serialised by the caller; the LiveBytes outlives it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "scheduler/memory/arrangement.hpp"
#include "scheduler/memory/live_bytes.hpp"
#include "scheduler/memory/neighbours.hpp"

namespace backplane {

// Addresses of buffers behind each other: buffer i has [i * stride, i * stride + max_bytes).
struct ChunkRule {
  uint64_t max_bytes = UINT64_MAX;  // of a buffer
  uint64_t stride = UINT64_MAX;     // max_bytes, rounded up to the alignment

  static ChunkRule of(uint64_t max_bytes, uint64_t alignment);
  bool limited() const { return max_bytes != UINT64_MAX; }
  uint32_t chunk(uint64_t address) const { return limited() ? static_cast<uint32_t>(address / stride) : 0; }
  uint64_t offset(uint64_t address) const { return limited() ? address % stride : address; }
};

class FirstFit {
 public:
  explicit FirstFit(const LiveBytes& live, ChunkRule rule = {});

  const ChunkRule& rule() const { return rule_; }

  // Gives up, with peak = UINT64_MAX, as soon as the peak reaches `give_up`, or when the work is spent.
  Arrangement place(std::span<const uint32_t> order, uint64_t give_up, WorkBudget& work);

 private:
  struct Taken {
    uint64_t begin, end;  // addresses
    uint32_t first, last;
  };

  // The lowest address for a block; `comparisons` made are added.
  uint64_t find_among_neighbours(uint32_t block, uint64_t* comparisons);
  uint64_t find_among_all(uint32_t block, uint64_t* comparisons) const;
  void put(uint32_t block, uint64_t address, uint64_t* comparisons);
  // The peak when a block is put there, too.
  uint64_t grow_chunk(uint32_t block, uint64_t address);

  const LiveBytes& live_;
  const ChunkRule rule_;
  std::optional<Neighbours> neighbours_;  // none if they are too many
  std::vector<uint64_t> addresses_;       // by block; kNowhere
  std::vector<uint64_t> chunk_bytes_;
  uint64_t peak_ = 0;
  std::vector<std::pair<uint64_t, uint64_t>> spans_;  // begin and end, of neighbours that are placed
  std::vector<Taken> taken_;                          // without neighbours_: all that are placed, by address
};

}  // namespace backplane
