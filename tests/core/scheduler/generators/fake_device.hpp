// What the fake plugin's extension says of its devices. Thread safety: as Device.
#pragma once

#include <string>
#include <vector>

#include "backplane/runtime/device.hpp"
#include "fake_extension.h"

namespace backplane::testing {

inline const bp_ext_fake& fake_extension(const Device& device) { return *device.extension<bp_ext_fake>(BP_EXT_FAKE); }

inline bp_fake_counters fake_counters(const Device& device) {
  bp_fake_counters counters{};
  fake_extension(device).counters(device.handle(), &counters);
  return counters;
}

// Begins to count anew on all devices, and takes planned faults back.
inline void reset_fakes(const std::vector<Device*>& devices) {
  for (const Device* device : devices) {
    fake_extension(*device).set_fault(device->handle(), BP_FAKE_ANY, 0, BP_OK);
    fake_extension(*device).reset(device->handle());
  }
}

// The first conflict that the plugin has seen, or an empty text.
inline std::string fake_conflict(const Device& device) {
  char text[512] = {};
  const uint64_t count = fake_extension(device).conflicts(device.handle(), text, sizeof text);
  return count == 0 ? "" : text;
}

// What is still alive on the devices, or an empty text.
inline std::string fake_leaks(const std::vector<Device*>& devices) {
  for (const Device* device : devices) {
    const bp_fake_counters counters = fake_counters(*device);
    if (counters.live_buffers + counters.live_bytes + counters.live_streams + counters.live_events +
            counters.live_programs !=
        0)
      return device->name() + " still has " + std::to_string(counters.live_buffers) + " buffers, " +
             std::to_string(counters.live_bytes) + " bytes, " + std::to_string(counters.live_streams) + " streams, " +
             std::to_string(counters.live_events) + " events, " + std::to_string(counters.live_programs) + " programs";
  }
  return "";
}

}  // namespace backplane::testing
