// SystemMemory: the memory that the system gives any program. Thread safety: any thread.
#pragma once

#include "src/memory.hpp"

namespace backplane_cpu {

class SystemMemory final : public Memory {
 public:
  MemoryFigures whole_figures() const override;

 private:
  std::byte* take(uint64_t bytes, uint64_t alignment) override;
  void give_back(std::byte* block, uint64_t alignment) noexcept override;
};

}  // namespace backplane_cpu
