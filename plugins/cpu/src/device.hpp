// CpuDevice: the processor and the host memory of this machine. Thread safety: as in abi/device.h.
#pragma once

#include <atomic>

#include "src/buffer.hpp"

namespace backplane_cpu {

inline constexpr uint32_t kMemtypeHost = 0;    // allocated here
inline constexpr uint32_t kMemtypeImport = 1;  // lent by the caller
inline constexpr uint32_t kMemtypeCount = 2;

class CpuDevice final : public backplane::sdk::Device {
 public:
  explicit CpuDevice(backplane::sdk::Host host);

  const backplane::sdk::Host& host() const { return host_; }
  // Threads of the pool that a submission may use, at least 1.
  uint32_t threads() const;
  // 0 = as many as the pool has.
  void set_threads(uint32_t count) { threads_.store(count, std::memory_order_relaxed); }

  bp_device_info info() override;
  bp_memtype_info memtype(uint32_t index) override;
  bp_memory_stats memory() override;
  uint32_t foreign_access(const bp_foreign_memory& memory) override;
  bp_node_answer query(const bp_graph& graph, uint32_t node, std::string& reason) override;
  std::unique_ptr<backplane::sdk::Buffer> create_buffer(const bp_buffer_desc& desc) override;
  std::unique_ptr<backplane::sdk::Stream> create_stream(const bp_stream_desc& desc) override;
  std::unique_ptr<backplane::sdk::Program> compile(const bp_graph& graph) override;
  const void* extension(std::string_view name, uint32_t min_version) override;

 private:
  std::unique_ptr<HostBuffer> import_buffer(const bp_buffer_desc& desc);
  std::unique_ptr<HostBuffer> allocate(uint64_t bytes);

  backplane::sdk::Host host_;
  std::string description_;
  uint64_t memory_total_;
  std::atomic<uint32_t> threads_{0};
  MemoryUse use_;
};

}  // namespace backplane_cpu
