#include "src/barrier.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace backplane_cpu {
namespace {

constexpr int kSpins = 1000;

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void Barrier::wait() {
  const uint32_t round = round_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == workers_) {
    arrived_.store(0, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_acq_rel);
    round_.notify_all();
    return;
  }
  for (int spin = 0; spin < kSpins; ++spin) {
    if (round_.load(std::memory_order_acquire) != round) return;
    pause_briefly();
  }
  round_.wait(round, std::memory_order_acquire);
}

}  // namespace backplane_cpu
