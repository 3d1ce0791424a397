// The plugin org.backplane.cpu and its entry point.

#include "backplane/sdk/options.hpp"
#include "backplane/sdk/tables.hpp"
#include "src/device.hpp"
#include "src/system.hpp"
#include "src/system_memory.hpp"

namespace backplane_cpu {
namespace {

constexpr int64_t kMaxThreads = 4096;

DeviceTraits traits() {
  return {
      "cpu0", processor_name(), BP_NONE, {{"host", kBufferAlignment, false}, {"host-import", kImportAlignment, true}}};
}

class CpuPlugin final : public backplane::sdk::Plugin {
 public:
  CpuPlugin(const bp_open_info& info, backplane::sdk::Host host) : device_(host, memory_, traits()) {
    set_options(info.options, info.option_count, info.option_stride);
  }
  uint32_t device_count() const override { return 1; }
  backplane::sdk::Device& device(uint32_t) override { return device_; }
  void set_options(const void* options, uint32_t count, uint32_t stride) override {
    backplane::sdk::OptionReader reader(options, count, stride);
    const int64_t threads = reader.integer("threads", -1, 0, kMaxThreads);
    reader.finish();
    if (threads >= 0) device_.set_threads(static_cast<uint32_t>(threads));
  }

 private:
  SystemMemory memory_;
  CpuDevice device_;
};

std::unique_ptr<backplane::sdk::Plugin> open_cpu(const bp_open_info& info, backplane::sdk::Host host) {
  return std::make_unique<CpuPlugin>(info, host);
}

constexpr backplane::sdk::PluginInfo kInfo{"org.backplane.cpu", "1.0.0", &open_cpu, nullptr};

}  // namespace
}  // namespace backplane_cpu

extern "C" BP_EXPORT bp_proc BP_CALL bp_get_proc_address(const char* name) {
  return backplane::sdk::get_proc_address<backplane_cpu::kInfo>(name);
}
