#include "hbw_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "../cpu/src/system.hpp"
#include "backplane/sdk/error.hpp"
#include "node_memory.hpp"

namespace backplane_cpu_hbm {

using backplane::sdk::Error;
using backplane_cpu::MemoryFigures;

namespace {

// Handed out in small blocks without asking the system again.
constexpr uint64_t kMostCredit = uint64_t{16} << 20;

void touch_pages(std::byte* block, uint64_t bytes) {
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  volatile std::byte* const at = block;
  for (uint64_t offset = 0; offset < bytes; offset += page) at[offset] = std::byte{};
  at[bytes - 1] = std::byte{};
}

}  // namespace

HbwMemory::HbwMemory(const HbwSettings& settings)
    : Memory(settings.limit_bytes), settings_(settings), heap_(settings.policy, settings.nodes) {}

MemoryFigures HbwMemory::whole_figures() const { return read_node_memory(nodes()); }

void HbwMemory::require_room(uint64_t bytes) {
  if (bytes > credit_bytes_) {
    const bool spills = settings_.policy == Policy::preferred;
    const MemoryFigures now = spills ? backplane_cpu::read_memory() : whole_figures();
    if (bytes > now.free_bytes)
      throw Error(BP_E_DEVICE_MEMORY, "wanted " + std::to_string(bytes) + " bytes of high-bandwidth memory, free are " +
                                          std::to_string(now.free_bytes) + " of " + std::to_string(now.total_bytes) +
                                          " on NUMA node " + nodes_text(nodes()));
    credit_bytes_ = bytes + std::min(now.free_bytes - bytes, kMostCredit);
  }
  credit_bytes_ -= bytes;
}

std::byte* HbwMemory::take(uint64_t bytes, uint64_t alignment) {
  const std::lock_guard lock(mutex_);
  require_room(bytes);
  int reason = 0;
  std::byte* const block = heap_.allocate(bytes, alignment, reason);
  if (block == nullptr)
    throw Error(BP_E_DEVICE_MEMORY,
                "memkind refused " + std::to_string(bytes) + " bytes of high-bandwidth memory (" +
                    std::generic_category().message(reason) + ")",
                reason);
  touch_pages(block, bytes);
  return block;
}

void HbwMemory::give_back(std::byte* block, uint64_t) noexcept {
  const std::lock_guard lock(mutex_);
  heap_.release(block);
}

}  // namespace backplane_cpu_hbm
