// ThreadPool: the runtime's own Workers, with gang regions.
//
// Threads are started at construction and joined at destruction. The caller of parallel_for works too, so a pool of
// n has n - 1 threads. One region holds the pool at a time: a plain region that finds it taken runs on its caller
// alone; a gang waits. The inherited CPU mask is never widened. Thread safety: as Workers.
#pragma once

#include <memory>

#include "backplane/base/workers.hpp"

namespace backplane {

class ThreadPool final : public Workers {
 public:
  // 0 = as many as the CPUs this process may run on. Fewer than asked for if threads cannot be made.
  explicit ThreadPool(uint32_t count = 0);
  ~ThreadPool() override;

  uint32_t count() const override;
  Status parallel_for(uint32_t task_count, uint32_t flags, bp_task_fn fn, void* arg) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace backplane
