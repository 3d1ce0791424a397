// CostsFile: measured costs of devices, kept from one program to the next.
//
// JSON: {"backplane_costs": 1, "devices": [{"plugin": ..., "plugin_version": ..., "device": ..., "description": ...,
// "workers": ..., "costs": {"launch_ns": ..., "split_ns": ..., "bytes_per_us": ..., "link_latency_ns": ...,
// "link_bytes_per_us": ..., "flops_per_us": {"matmul": ..., ...}}}, ...]}; all of these are there, and nothing else is.
// Thread safety: a value.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backplane/base/json.hpp"
#include "backplane/base/status.hpp"
#include "backplane/scheduler/device_costs.hpp"

namespace backplane {

// What figures are good for: another one may be of other speed.
struct MeasuredDevice {
  std::string plugin, plugin_version;
  std::string device;       // Device::identity
  std::string description;  // of the device
  int64_t workers = 0;      // threads that plugins may use

  static MeasuredDevice of(const Runtime& runtime, const Device& device);
  bool operator==(const MeasuredDevice&) const = default;
};

class CostsFile {
 public:
  // Empty if there is no such file. Errors: invalid_argument "costs.syntax" or a "json." one, naming the place; as
  // RegularFile::open.
  static Result<CostsFile> read(const std::string& path);
  static Result<CostsFile> parse(std::string_view text, const std::string& path);

  // Null = not measured.
  const DeviceCosts* find(const MeasuredDevice& device) const;
  // Replaces what is known of the same device with another plugin version, description or number of workers.
  void set(MeasuredDevice device, const DeviceCosts& costs);
  Json to_json() const;

 private:
  std::vector<std::pair<MeasuredDevice, DeviceCosts>> entries_;
};

}  // namespace backplane
