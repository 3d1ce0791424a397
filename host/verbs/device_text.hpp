// Devices as text and as JSON.
// Thread safety: as Device; memory figures are asked of the device by each call.
#pragma once

#include <string>
#include <vector>

#include "backplane/base/json.hpp"
#include "backplane/runtime/device.hpp"
#include "table.hpp"

namespace backplane::cli {

// What the device says of itself, and whose hardware it shares.
std::string device_description(const Device& device);

Table devices_table(const std::vector<Device*>& devices);
Json to_json(const Device& device);
Json to_json(const std::vector<Device*>& devices);

}  // namespace backplane::cli
