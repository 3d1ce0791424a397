// The plugin `org.backplane.fake`: devices that are simulated, configured by options alone.
#include <deque>

#include "backplane/sdk/tables.hpp"
#include "device.hpp"

namespace fake {
namespace {

class Plugin final : public backplane::sdk::Plugin {
 public:
  Plugin(std::vector<Options> options, backplane::sdk::Host host)
      : shared_{host, host.intern(kMixOpName, BP_NAMESPACE_OP), static_cast<uint32_t>(options.size()), {}} {
    for (Options& device : options) devices_.emplace_back(std::move(device), device_count(), shared_);
  }
  uint32_t device_count() const override { return static_cast<uint32_t>(devices_.size()); }
  backplane::sdk::Device& device(uint32_t index) override { return devices_[index]; }

 private:
  Shared shared_;
  std::deque<Device> devices_;
};

std::unique_ptr<backplane::sdk::Plugin> open_fake(const bp_open_info& info, backplane::sdk::Host host) {
  return std::make_unique<Plugin>(parse_options(info.options, info.option_count, info.option_stride), host);
}

constexpr backplane::sdk::PluginInfo kInfo{"org.backplane.fake", "1.0.0", &open_fake, nullptr};

}  // namespace
}  // namespace fake

extern "C" BP_EXPORT bp_proc BP_CALL bp_get_proc_address(const char* name) {
  return backplane::sdk::get_proc_address<fake::kInfo>(name);
}
