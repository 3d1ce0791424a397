// HbwMemory: high-bandwidth memory as a device's own, and nothing else: where it is full, allocating fails.
//
// With the policies that allow the nodes only, the kernel ends the process when a page cannot be had as it is first
// touched. So the nodes are asked for room, and every page is touched, before a block is handed out.
// Thread safety: any thread; one block is made or taken back at a time.
#pragma once

#include <mutex>
#include <string>

#include "../cpu/src/memory.hpp"
#include "hbw_heap.hpp"

namespace backplane_cpu_hbm {

struct HbwSettings {
  Policy policy = Policy::bind;
  std::string nodes;         // as HbwHeap takes them
  uint64_t limit_bytes = 0;  // of all blocks together; 0 = no limit
  bool operator==(const HbwSettings&) const = default;
};

class HbwMemory final : public backplane_cpu::Memory {
 public:
  // Throws as HbwHeap does.
  explicit HbwMemory(const HbwSettings& settings);

  const HbwSettings& settings() const { return settings_; }
  const NodeSet& nodes() const { return heap_.nodes(); }
  // Of the nodes.
  backplane_cpu::MemoryFigures whole_figures() const override;

 private:
  std::byte* take(uint64_t bytes, uint64_t alignment) override;
  void give_back(std::byte* block, uint64_t alignment) noexcept override;
  void require_room(uint64_t bytes);

  const HbwSettings settings_;
  HbwHeap heap_;
  std::mutex mutex_;
  uint64_t credit_bytes_ = 0;  // that were free when the system was last asked, and have not been handed out since
};

}  // namespace backplane_cpu_hbm
