// CpuStream: runs work in the calling thread and on the host's pool; a call returns when its work is done.
// Thread safety: as in abi/stream.h; `cancel` from any thread.
#pragma once

#include <atomic>

#include "backplane/sdk/plugin.hpp"

namespace backplane_cpu {

class CpuDevice;

class CpuStream final : public backplane::sdk::Stream {
 public:
  explicit CpuStream(CpuDevice& device) : device_(device) {}
  void submit(const bp_submit_desc& work) override;
  void copy(const bp_copy_desc& copy) override;
  void fill(backplane::sdk::Buffer& buffer, uint64_t offset, uint64_t bytes, uint8_t byte) override;
  bp_code synchronize(uint64_t /*timeout_ns*/, bp_error* /*error*/) override { return BP_OK; }
  void cancel(bp_run_id run) override { cancelled_run_.store(run, std::memory_order_relaxed); }

 private:
  CpuDevice& device_;
  std::atomic<bp_run_id> cancelled_run_{0};  // the newest run that `cancel` named
};

}  // namespace backplane_cpu
