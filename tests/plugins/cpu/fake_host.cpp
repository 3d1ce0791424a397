#include "fake_host.hpp"

#include <thread>
#include <vector>

namespace backplane_cpu::testing {
namespace {

FakeHost& self(bp_host* host) { return *reinterpret_cast<FakeHost*>(host); }

}  // namespace

FakeHost::FakeHost(uint32_t workers) : workers_(workers) {
  table_.head = {sizeof table_, BP_KIND_TABLE_HOST};
  table_.log = [](bp_host*, int32_t, const char*, uint64_t) {};
  table_.intern = [](bp_host*, const char*, uint32_t) -> uint32_t { return BP_NONE; };
  table_.worker_count = [](bp_host* host) -> uint32_t { return self(host).workers_; };
  table_.parallel_for = [](bp_host* host, uint32_t count, uint32_t flags, bp_task_fn fn, void* arg) -> bp_code {
    return self(host).parallel(count, flags, fn, arg);
  };
  table_.cancelled = [](bp_host* host, bp_run_id run) -> uint32_t {
    return self(host).polls++ >= self(host).cancel_after_polls || self(host).cancelled_run == run ? 1 : 0;
  };
  table_.device_event = [](bp_host*, bp_device*, uint32_t, const bp_error*) {};
  table_.get_extension = [](bp_host*, const char*, uint32_t) -> const void* { return nullptr; };
}

bp_code FakeHost::parallel(uint32_t count, uint32_t flags, bp_task_fn fn, void* arg) {
  if (fn == nullptr || flags != BP_PARALLEL_GANG || count > workers_) return BP_E_INVALID_ARG;
  ++regions;
  last_gang = count;
  std::vector<std::thread> threads;
  for (uint32_t i = 1; i < count; ++i) threads.emplace_back([=] { fn(arg, i); });
  fn(arg, 0);
  for (std::thread& thread : threads) thread.join();
  return BP_OK;
}

ErrorText::ErrorText() {
  error.size = sizeof error;
  error.message = storage;
  error.message_cap = sizeof storage;
}

}  // namespace backplane_cpu::testing
