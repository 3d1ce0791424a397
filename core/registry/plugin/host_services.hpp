// HostServices: what the host gives to plugins (bp_host_i): log, names, CPU work, cancellation, device events.
//
// One object serves all plugins of a Registry and outlives them. Thread safety: every function from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "backplane/abi/host.h"
#include "backplane/base/log.hpp"
#include "backplane/base/status.hpp"
#include "backplane/base/workers.hpp"

namespace backplane {

// Receives what a plugin says about a device: BP_DEVICE_EVENT_*, and the reason, which may be ok. From any thread.
using DeviceEventFn =
    std::function<void(const std::string& plugin_id, bp_device* device, uint32_t what, const Status& reason)>;

class HostServices {
 public:
  HostServices(const Logger& log, Workers& workers, DeviceEventFn on_device_event = {});
  ~HostServices();
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  // The context of one plugin; this object's. Log lines of the plugin have its id as topic.
  bp_host* add_plugin(std::string plugin_id);
  const bp_host_i* table() const;

  // As bp_host_i.intern.
  uint32_t intern(std::string_view name, uint32_t name_space);

  // Marks a run as cancelled until finish. Run 0 is no run and cannot be cancelled.
  void cancel(bp_run_id run);
  void finish(bp_run_id run);
  bool cancelled(bp_run_id run) const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace backplane
