// DeviceCosts: what mode cost knows of a device: how fast it computes, and what it takes to reach it.
//
// A plan depends on nothing but the figures that it is given, so that equal figures make equal plans anywhere. They are
// measured once (calibrate) and kept by whoever plans; PlanOptions::device_costs takes them.
// Thread safety: values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backplane/base/status.hpp"

namespace backplane {

class Device;
class Runtime;

enum class OpClass : uint8_t { matmul, quantised_matmul, convolution, attention, elementwise, movement };
inline constexpr size_t kOpClassCount = 6;

struct DeviceCosts {
  bool calibrated = false;                                       // false = of the type of device, not of this one
  int64_t launch_ns = 5'000;                                     // of a node
  int64_t split_ns = 15'000;                                     // to submit a split and wait for it
  std::array<int64_t, kOpClassCount> flops_per_us = {};          // by OpClass; 0 = at no cost
  int64_t bytes_per_us = 0;                                      // of its memory; 0 = at no cost
  int64_t link_latency_ns = 10'000, link_bytes_per_us = 12'000;  // from and to the host

  bool operator==(const DeviceCosts&) const = default;
};

// Of a type of device (BP_DEVICE_*): guesses for those that were not measured.
DeviceCosts default_costs(uint32_t device_type);

// Measures a device, in about 0.1 s: chains of small nodes, element-wise nodes and matrix products of three sizes, and
// copies of three sizes from and to the host. What the device cannot do stays as in default_costs. Blocks.
// Errors: what the device reported.
Result<DeviceCosts> calibrate(Runtime& runtime, Device& device);

// Measures each device; one that fails keeps the guess for its type.
std::vector<DeviceCosts> calibrate(Runtime& runtime, const std::vector<Device*>& devices);

// As that, but what `file` has of a device is taken from there, and what is measured is added to it, so that the next
// program makes the same plans and need not measure. Figures are those of a plugin's version, a device by its identity
// and description, and a number of worker threads. Guesses are not kept. A file that is not there is made. Errors:
// invalid_argument "costs.syntax" or a "json." one for a file of other content, which is left as it is;
// failed_precondition "file.open", "file.not-regular" or "file.write".
Result<std::vector<DeviceCosts>> calibrate(Runtime& runtime, const std::vector<Device*>& devices,
                                           const std::string& file);

}  // namespace backplane
