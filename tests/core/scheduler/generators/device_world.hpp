// Random sets of fake devices.
#pragma once

#include <cstdint>
#include <string>

namespace backplane::testing {

struct DeviceWorld {
  std::string options;  // the JSON object that the fake plugin is opened with
  bool async;
  std::string idle_device;  // the name of one that runs nothing, or empty
};

// 1 to 8 devices that differ in memory (own, host, what they read of others), alignment, limits, events, programs,
// peer copies and the ops that they support, under which every node of the generators runs somewhere. `async`: with
// threads and random delays, and the detector of conflicts.
DeviceWorld make_device_world(uint64_t seed, bool async);

}  // namespace backplane::testing
