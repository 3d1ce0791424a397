// FakeHost: the host's side of the ABI for tests: a pool of real threads, cancellation, and nothing else.
// Thread safety: as in abi/host.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "backplane/abi/abi.h"

namespace backplane_cpu::testing {

class FakeHost {
 public:
  explicit FakeHost(uint32_t workers);
  const bp_host_i* table() const { return &table_; }
  bp_host* context() { return reinterpret_cast<bp_host*>(this); }

  std::atomic<bp_run_id> cancelled_run{0};
  std::atomic<uint32_t> cancel_after_polls{UINT32_MAX};  // every run counts as cancelled from this poll on
  std::atomic<uint32_t> polls{0};
  std::atomic<uint32_t> regions{0};  // parallel regions so far
  uint32_t last_gang = 0;            // tasks of the newest region

 private:
  bp_code parallel(uint32_t count, uint32_t flags, bp_task_fn fn, void* arg);

  uint32_t workers_;
  bp_host_i table_{};
};

// One error record with its text.
struct ErrorText {
  ErrorText();
  std::string text() const { return storage; }
  char storage[512] = {};
  bp_error error{};
};

}  // namespace backplane_cpu::testing
