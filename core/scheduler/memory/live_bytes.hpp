// LiveBytes: blocks of memory in the form that the planner's methods share, and how many bytes of them are alive when.
//
// Empty blocks are left out, sizes are rounded up to the alignment, and time is counted in sections: a new one begins
// with the first step of any block, as nothing grows in between. Blocks are numbered by their first section.
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backplane/base/status.hpp"
#include "scheduler/memory/memory_planner.hpp"

namespace backplane {

class LiveBytes {
 public:
  struct Block {
    uint32_t first, last;  // sections
    uint64_t bytes;        // a multiple of the alignment, not 0
    uint64_t bare_bytes;   // before rounding
    uint32_t original;     // its number among the planner's blocks

    uint32_t length() const { return last - first + 1; }
  };

  // Errors: invalid_argument for a block that ends before it begins, and if sizes overflow: all blocks together have
  // at most 2^62 bytes.
  static Result<LiveBytes> make(std::span<const MemoryBlock> blocks, uint64_t alignment);

  const std::vector<Block>& blocks() const { return blocks_; }
  uint32_t size() const { return static_cast<uint32_t>(blocks_.size()); }
  uint32_t section_count() const { return static_cast<uint32_t>(begins_.size()) - 1; }
  // The number of the first block that begins in a section or later; that of a section past the last is size().
  uint32_t first_block(uint32_t section) const { return begins_[section]; }
  uint64_t alignment() const { return alignment_; }
  uint64_t total_bytes() const { return total_bytes_; }
  // By section: the bytes alive in it.
  const std::vector<uint64_t>& by_section() const { return live_; }
  // The most bytes that are alive at once: no plan needs less.
  uint64_t most() const { return most_; }
  // The same of the sizes before rounding.
  uint64_t most_bare() const { return most_bare_; }
  // By block: the most bytes alive in any of its sections.
  std::vector<uint64_t> most_by_block() const;
  // Pairs of blocks that are alive together.
  uint64_t pair_count() const;

 private:
  LiveBytes() = default;

  std::vector<Block> blocks_;     // by first section, then by original number
  std::vector<uint32_t> begins_;  // by section, and one more
  std::vector<uint64_t> live_;
  uint64_t alignment_ = 1;
  uint64_t total_bytes_ = 0, most_ = 0, most_bare_ = 0;
};

}  // namespace backplane
