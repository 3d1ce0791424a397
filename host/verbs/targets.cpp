#include "targets.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"
#include "common.hpp"

namespace backplane::cli {

Result<Targets> select_targets(const Runtime& runtime, const Arguments& arguments) {
  if (runtime.devices().empty()) return no_devices(runtime, arguments.common);
  Targets targets;
  BP_TRY_ASSIGN(targets.devices, runtime.select(arguments.model.devices));
  for (const std::string& pin : arguments.model.pins) {
    // Node names may hold '='; device names do not.
    const size_t at = pin.rfind('=');
    if (at == std::string::npos || at == 0) return usage_error(cat("--pin '", pin, "' is not of the form NODE=DEVICE"));
    BP_TRY_ASSIGN(Device* const device, runtime.device(pin.substr(at + 1)));
    const auto found = std::find(targets.devices.begin(), targets.devices.end(), device);
    if (found == targets.devices.end())
      return not_found(cat("--pin ", pin, ": --device ", arguments.model.devices, " leaves ", device->name(), " out"));
    targets.options.pins.emplace_back(pin.substr(0, at), static_cast<uint32_t>(found - targets.devices.begin()));
  }
  return targets;
}

}  // namespace backplane::cli
