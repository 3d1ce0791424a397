// The plugin org.backplane.cpu-hbm and its entry point: the device of plugins/cpu, in high-bandwidth memory.
//
// It has no bp_probe: what counts as high-bandwidth memory depends on the options, which come with bp_open.v1.

#include "../cpu/src/device.hpp"
#include "../cpu/src/system.hpp"
#include "backplane/sdk/options.hpp"
#include "backplane/sdk/tables.hpp"
#include "hbw_memory.hpp"

namespace backplane_cpu_hbm {

using backplane_cpu::CpuDevice;
using backplane_cpu::kBufferAlignment;
using backplane_cpu::kImportAlignment;
namespace sdk = backplane::sdk;

namespace {

constexpr int64_t kMaxThreads = 4096;

struct Options {
  int64_t threads = -1;  // -1 = not given
  HbwSettings memory;
};

// Options that are not given are those of `fallback`.
Options read_options(const void* options, uint32_t count, uint32_t stride, const HbwSettings& fallback) {
  sdk::OptionReader reader(options, count, stride);
  Options result;
  result.threads = reader.integer("threads", -1, 0, kMaxThreads);
  result.memory.policy = parse_policy(reader.text("policy", policy_text(fallback.policy)));
  result.memory.nodes = reader.text("nodes", fallback.nodes);
  result.memory.limit_bytes =
      static_cast<uint64_t>(reader.integer("limit_bytes", static_cast<int64_t>(fallback.limit_bytes), 0, INT64_MAX));
  reader.finish();
  return result;
}

backplane_cpu::DeviceTraits traits_of(const HbwMemory& memory) {
  const NodeSet& nodes = memory.nodes();
  backplane_cpu::DeviceTraits traits;
  traits.name = "hbm0";
  traits.description = backplane_cpu::processor_name() + ", high-bandwidth memory on NUMA node " + nodes_text(nodes) +
                       " (" + policy_text(memory.settings().policy) + ")";
  traits.numa_node = nodes.size() == 1 ? nodes.front() : BP_NONE;
  traits.kinds = {{"hbm", kBufferAlignment, false},
                  {"host-import", kImportAlignment, true},
                  {"hbm-4k", 4096, false},
                  {"hbm-2m", uint64_t{2} << 20, false}};
  traits.reads_application_memory = false;
  return traits;
}

class HbmPlugin final : public sdk::Plugin {
 public:
  HbmPlugin(const Options& options, sdk::Host host)
      : memory_(options.memory), device_(host, memory_, traits_of(memory_)) {
    set_threads(options.threads);
  }
  uint32_t device_count() const override { return 1; }
  sdk::Device& device(uint32_t) override { return device_; }
  void set_options(const void* options, uint32_t count, uint32_t stride) override {
    const Options wanted = read_options(options, count, stride, memory_.settings());
    if (wanted.memory != memory_.settings())
      throw sdk::Error(BP_E_STATE,
                       "options 'policy', 'nodes' and 'limit_bytes' can be set only when the plugin is opened");
    set_threads(wanted.threads);
  }

 private:
  void set_threads(int64_t threads) {
    if (threads >= 0) device_.set_threads(static_cast<uint32_t>(threads));
  }

  HbwMemory memory_;
  CpuDevice device_;
};

std::unique_ptr<sdk::Plugin> open_hbm(const bp_open_info& info, sdk::Host host) {
  return std::make_unique<HbmPlugin>(read_options(info.options, info.option_count, info.option_stride, {}), host);
}

constexpr sdk::PluginInfo kInfo{"org.backplane.cpu-hbm", "1.0.0", &open_hbm, nullptr};

}  // namespace
}  // namespace backplane_cpu_hbm

extern "C" BP_EXPORT bp_proc BP_CALL bp_get_proc_address(const char* name) {
  return backplane::sdk::get_proc_address<backplane_cpu_hbm::kInfo>(name);
}
