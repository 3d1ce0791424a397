#include "device_world.hpp"

#include "graph_maker.hpp"

namespace backplane::testing {
namespace {

class Maker {
 public:
  Maker(uint64_t seed, bool async) : make_(seed), async_(async), devices_(static_cast<uint32_t>(make_.pick(1, 8))) {}

  DeviceWorld make() {
    set("seed", make_.pick(0, 1'000'000));
    if (async_) {
      set("detect_conflicts", true);
      set("max_delay_us", make_.pick(0, 60));
      if (make_.chance(30)) set("long_delay_us", make_.pick(0, 2000));
    }
    // Either each op has this device, or the nodes go round.
    complete_ = static_cast<uint32_t>(make_.pick(0, devices_ - 1));
    choose_ops_ = make_.chance(70);
    if (!choose_ops_) set("supports", "alternate");
    for (uint32_t device = 0; device < devices_; ++device) add_device(device);
    // With "alternate", a device more would get nodes that it refuses.
    if (choose_ops_) set(std::to_string(devices_) + "-supports", "nothing");
    set("devices", static_cast<int64_t>(devices_ + (choose_ops_ ? 1 : 0)));
    return {"{" + options_ + "}", async_, choose_ops_ ? "fake" + std::to_string(devices_) : ""};
  }

 private:
  void set(const std::string& key, const std::string& json_text) {
    options_ += (options_.empty() ? "\"" : ", \"") + key + "\": " + json_text;
  }
  void set(const std::string& key, const char* text) { set(key, '"' + std::string(text) + '"'); }
  void set(const std::string& key, int64_t value) { set(key, std::to_string(value)); }
  void set(const std::string& key, bool value) { set(key, std::string(value ? "true" : "false")); }

  void add_device(uint32_t device) {
    const std::string prefix = std::to_string(device) + "-";
    const bool host = make_.chance(40);
    if (host) set(prefix + "memory", "host");
    if (make_.chance(30)) set(prefix + "reads_foreign", foreign_access());
    if (make_.chance(50)) set(prefix + "alignment", int64_t{1} << make_.pick(2, 12));
    if (make_.chance(20)) set(prefix + "max_buffer_bytes", int64_t{1} << make_.pick(16, 20));
    if (make_.chance(20)) set(prefix + "memory_limit_bytes", int64_t{1} << 28);
    for (const char* feature : {"events", "programs", "peer_copy", "update", "in_place"})
      if (make_.chance(20)) set(prefix + feature, false);
    if (make_.chance(20)) set(prefix + "type", "gpu");
    if (make_.chance(20)) set(prefix + "prefer", "matmul");
    if (async_ && make_.chance(70)) set(prefix + "async", true);
    if (choose_ops_ && device != complete_ && make_.chance(70)) add_mask(prefix);
  }

  const char* foreign_access() {
    constexpr const char* kLevels[] = {"none", "copy", "read", "write"};
    return kLevels[make_.pick(0, 3)];
  }

  void add_mask(const std::string& prefix) {
    constexpr const char* kOps[] = {"add", "sub",  "mul",   "min",    "max",         "neg",    "abs",    "relu",
                                    "lt",  "copy", "where", "concat", "bitwise_xor", "matmul", "gather", "reduce_sum"};
    std::string some;
    const int percent = static_cast<int>(make_.pick(5, 80));
    for (const char* op : kOps)
      if (make_.chance(percent)) some += (some.empty() ? "" : ",") + std::string(op);
    set(prefix + (make_.chance(50) ? "supports" : "deny"), some.empty() ? "add" : some.c_str());
  }

  GraphMaker make_;
  const bool async_;
  const uint32_t devices_;
  uint32_t complete_ = 0;
  bool choose_ops_ = false;
  std::string options_;
};

}  // namespace

DeviceWorld make_device_world(uint64_t seed, bool async) { return Maker(seed ^ 0xD0D0D0D0, async).make(); }

}  // namespace backplane::testing
