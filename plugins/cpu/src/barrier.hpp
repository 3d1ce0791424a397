// Barrier: a meeting point for the workers of one gang, used again and again.
//
// A worker spins for a few microseconds, then sleeps in the kernel, so a gang with more threads than processors
// makes progress. What a worker wrote before `wait` is seen by all after it.
// Thread safety: `wait` from each of the workers.
#pragma once

#include <atomic>
#include <cstdint>

namespace backplane_cpu {

class Barrier {
 public:
  explicit Barrier(uint32_t workers) : workers_(workers) {}
  // Returns when all workers have called it once more.
  void wait();

 private:
  const uint32_t workers_;
  std::atomic<uint32_t> arrived_{0};
  std::atomic<uint32_t> round_{0};
};

}  // namespace backplane_cpu
