#include "src/system_memory.hpp"

#include <new>
#include <string>

#include "backplane/sdk/error.hpp"
#include "src/system.hpp"

namespace backplane_cpu {

using backplane::sdk::Error;

namespace {

// Below this many bytes the system is not asked whether it has them.
constexpr uint64_t kLargeBytes = uint64_t{64} << 20;

}  // namespace

MemoryFigures SystemMemory::whole_figures() const { return read_memory(); }

std::byte* SystemMemory::take(uint64_t bytes, uint64_t alignment) {
  if (bytes >= kLargeBytes) {
    // Overcommitted memory would be granted now and end the process later.
    const MemoryFigures now = whole_figures();
    if (now.total_bytes != 0 && bytes > now.free_bytes)
      throw Error(BP_E_DEVICE_MEMORY, "wanted " + std::to_string(bytes) + " bytes of memory, free are " +
                                          std::to_string(now.free_bytes) + " of " + std::to_string(now.total_bytes));
  }
  void* const block = ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
  if (block == nullptr)
    throw Error(BP_E_DEVICE_MEMORY, "the system refused " + std::to_string(bytes) + " bytes of memory");
  return static_cast<std::byte*>(block);
}

void SystemMemory::give_back(std::byte* block, uint64_t alignment) noexcept {
  ::operator delete (block, std::align_val_t{alignment});
}

}  // namespace backplane_cpu
