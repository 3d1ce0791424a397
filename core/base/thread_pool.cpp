#include "backplane/base/thread_pool.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "backplane/base/text.hpp"
#include "cpu_count.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace backplane {
namespace {

// Some microseconds: longer than the gap between two ops of a graph, too short to be felt by anybody else.
constexpr int kSpins = 2000;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Waits until `word` is no longer `old`: spins for a moment, then sleeps.
void wait_for_change(const std::atomic<uint32_t>& word, uint32_t old) {
  for (int i = 0; i < kSpins; ++i) {
    if (word.load(std::memory_order_acquire) != old) return;
    relax();
  }
  word.wait(old, std::memory_order_acquire);
}

// Whether this thread runs a task of any pool now; regions begun in it are nested.
thread_local bool inside_task = false;

class TaskScope {
 public:
  TaskScope() : outer_(inside_task) { inside_task = true; }
  ~TaskScope() { inside_task = outer_; }
  TaskScope(const TaskScope&) = delete;

 private:
  bool outer_;
};

// The first exception that a task let out, as text. Tasks must not throw; a host that is told beats one that dies.
class Failure {
 public:
  void note(const char* what) {
    const std::lock_guard lock(mutex_);
    if (text_.empty()) text_ = what;
  }
  Status take() {
    const std::lock_guard lock(mutex_);
    if (text_.empty()) return {};
    return internal_error(cat("a task of a parallel region threw an exception: ", std::exchange(text_, {})));
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

void run_task(bp_task_fn fn, void* arg, uint32_t task, Failure& failure) {
  const TaskScope scope;
  try {
    fn(arg, task);
  } catch (const std::exception& error) {
    failure.note(error.what());
  } catch (...) {
    failure.note("of an unknown type");
  }
}

Status run_alone(uint32_t task_count, bp_task_fn fn, void* arg) {
  Failure failure;
  for (uint32_t task = 0; task < task_count; ++task) run_task(fn, arg, task, failure);
  return failure.take();
}

}  // namespace

// A region is published by storing `unclaimed`; a thread that takes one off it owns that task, and the region cannot
// end before the task has. So a thread that wakes late finds nothing and delays nobody, and the plain members below
// are only read by owners of a task, after the store that published them.
//
// Gangs need no more than this: a gang has at most count() tasks, its region has the pool to itself, and a thread
// that is held up in one task takes no other, so every task finds a thread of its own.
struct ThreadPool::State {
  bp_task_fn fn = nullptr;
  void* arg = nullptr;
  uint32_t task_count = 0;
  Failure failure;

  std::atomic<uint32_t> unclaimed{0};   // tasks that no thread has taken
  std::atomic<uint32_t> unfinished{0};  // tasks that have not returned
  std::atomic<uint32_t> signal{0};      // changes when there may be something to do
  std::atomic<bool> stopping{false};

  std::mutex region;  // held for the length of a region
  std::vector<std::thread> threads;

  bool claim(uint32_t& task) {
    uint32_t left = unclaimed.load(std::memory_order_acquire);
    while (left != 0)
      if (unclaimed.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
        task = task_count - left;
        return true;
      }
    return false;
  }

  void work() {
    for (uint32_t task; claim(task);) {
      run_task(fn, arg, task, failure);
      if (unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished.notify_all();
    }
  }

  void run_thread() {
    while (!stopping.load(std::memory_order_acquire)) {
      const uint32_t seen = signal.load(std::memory_order_acquire);
      work();
      if (!stopping.load(std::memory_order_acquire)) wait_for_change(signal, seen);
    }
  }

  void wake() {
    signal.fetch_add(1, std::memory_order_release);
    signal.notify_all();
  }

  // REQUIRES: region is held.
  Status run(uint32_t count, bp_task_fn task_fn, void* task_arg) {
    fn = task_fn;
    arg = task_arg;
    task_count = count;
    unfinished.store(count, std::memory_order_relaxed);
    unclaimed.store(count, std::memory_order_release);
    wake();
    work();
    for (uint32_t left; (left = unfinished.load(std::memory_order_acquire)) != 0;) wait_for_change(unfinished, left);
    return failure.take();
  }
};

ThreadPool::ThreadPool(uint32_t count) : state_(std::make_unique<State>()) {
  if (count == 0) count = usable_cpu_count();
  try {
    state_->threads.reserve(count - 1);
    for (uint32_t i = 1; i < count; ++i) state_->threads.emplace_back([state = state_.get()] { state->run_thread(); });
  } catch (const std::exception&) {  // fewer threads: count() tells
  }
}

ThreadPool::~ThreadPool() {
  state_->stopping.store(true, std::memory_order_release);
  state_->wake();
  for (std::thread& thread : state_->threads) thread.join();
}

uint32_t ThreadPool::count() const { return static_cast<uint32_t>(state_->threads.size()) + 1; }

Status ThreadPool::parallel_for(uint32_t task_count, uint32_t flags, bp_task_fn fn, void* arg) {
  if (fn == nullptr) return invalid_argument("parallel_for: fn is NULL");
  if ((flags & ~BP_PARALLEL_GANG) != 0)
    return invalid_argument(cat("parallel_for: unknown flags ", flags & ~BP_PARALLEL_GANG));
  const bool gang = (flags & BP_PARALLEL_GANG) != 0;
  if (gang && task_count > count())
    return invalid_argument(cat("parallel_for: a gang of ", task_count, " tasks needs as many threads; the pool has ",
                                count(), " (worker_count)"));
  if (gang && task_count > 1 && inside_task)
    return failed_precondition("parallel_for: a gang of more than one task cannot start inside a task");
  if (inside_task || task_count <= 1 || count() == 1) return run_alone(task_count, fn, arg);

  std::unique_lock<std::mutex> lock(state_->region, std::defer_lock);
  if (gang)
    lock.lock();
  else if (!lock.try_lock())
    return run_alone(task_count, fn, arg);
  return state_->run(task_count, fn, arg);
}

}  // namespace backplane
