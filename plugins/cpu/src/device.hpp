// CpuDevice: the processor of this machine, with one memory to compute in. Thread safety: as in abi/device.h.
#pragma once

#include <atomic>
#include <vector>

#include "src/buffer.hpp"

namespace backplane_cpu {

inline constexpr uint64_t kBufferAlignment = 64;  // of memory types that kernels compute in
inline constexpr uint64_t kImportAlignment = 8;   // of lent memory: that of the widest element

struct MemoryKind {
  const char* name;
  uint64_t alignment;  // bytes, a power of two
  bool lent;           // only the caller's memory, in place
};

// What tells one device of this class from another.
struct DeviceTraits {
  const char* name;
  std::string description;
  uint32_t numa_node = BP_NONE;
  std::vector<MemoryKind> kinds;  // its memory types
  // Whether the application's own memory is read in place; else it is worth a copy into the device's.
  bool reads_application_memory = true;
};

class CpuDevice final : public backplane::sdk::Device {
 public:
  // `memory` outlives the device.
  CpuDevice(backplane::sdk::Host host, Memory& memory, DeviceTraits traits);

  const backplane::sdk::Host& host() const { return host_; }
  Memory& own_memory() { return memory_; }
  // The memory type of that name, or BP_NONE.
  uint32_t find_memtype(std::string_view name) const;
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

  backplane::sdk::Host host_;
  Memory& memory_;
  const DeviceTraits traits_;
  const uint64_t memory_total_;
  std::atomic<uint32_t> threads_{0};
};

}  // namespace backplane_cpu
