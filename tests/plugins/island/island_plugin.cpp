// The plugin org.backplane.island: a device with all of the CPU plugin's kernels, whose memory nobody else reads or
// writes in place. Beside cpu0 it makes every tensor that crosses be copied: for running graphs node by node on two
// devices in turn.

#include "backplane/sdk/tables.hpp"
#include "src/device.hpp"
#include "src/system_memory.hpp"

namespace backplane_island {
namespace {

namespace sdk = backplane::sdk;
using backplane_cpu::CpuDevice;

backplane_cpu::DeviceTraits traits() {
  return {"island0",
          "the processor, with memory of its own",
          BP_NONE,
          {{"island", backplane_cpu::kBufferAlignment, false}},
          false};
}

// Extensions are left out: their tables take a device's handle for a CpuDevice.
class IslandDevice final : public sdk::Device {
 public:
  explicit IslandDevice(sdk::Host host) : device_(host, memory_, traits()) {}
  bp_device_info info() override {
    bp_device_info info = device_.info();
    info.caps &= ~static_cast<decltype(info.caps)>(BP_CAP_IMPORT_HOST);
    return info;
  }
  bp_memtype_info memtype(uint32_t index) override {
    bp_memtype_info info = device_.memtype(index);
    info.flags = BP_MEM_DEVICE;
    return info;
  }
  bp_memory_stats memory() override { return device_.memory(); }
  bp_node_answer query(const bp_graph& graph, uint32_t node, std::string& reason) override {
    return device_.query(graph, node, reason);
  }
  std::unique_ptr<sdk::Buffer> create_buffer(const bp_buffer_desc& desc) override {
    return device_.create_buffer(desc);
  }
  std::unique_ptr<sdk::Stream> create_stream(const bp_stream_desc& desc) override {
    return device_.create_stream(desc);
  }
  std::unique_ptr<sdk::Program> compile(const bp_graph& graph) override { return device_.compile(graph); }

 private:
  backplane_cpu::SystemMemory memory_;
  CpuDevice device_;
};

class IslandPlugin final : public sdk::Plugin {
 public:
  explicit IslandPlugin(sdk::Host host) : device_(host) {}
  uint32_t device_count() const override { return 1; }
  sdk::Device& device(uint32_t) override { return device_; }

 private:
  IslandDevice device_;
};

std::unique_ptr<sdk::Plugin> open_island(const bp_open_info&, sdk::Host host) {
  return std::make_unique<IslandPlugin>(host);
}

constexpr sdk::PluginInfo kInfo{"org.backplane.island", "1.0.0", &open_island, nullptr};

}  // namespace
}  // namespace backplane_island

extern "C" BP_EXPORT bp_proc BP_CALL bp_get_proc_address(const char* name) {
  return backplane::sdk::get_proc_address<backplane_island::kInfo>(name);
}
