// What a `fake` plugin is opened with: every way in which the simulated devices can differ. Thread safety: a value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backplane/sdk/options.hpp"

namespace fake {

struct Options {
  uint32_t devices = 1;
  uint32_t type = BP_DEVICE_ACCEL;    // "type": cpu | gpu | igpu | accel
  bool host_memory = false;           // "memory": own (separate blocks, not mappable) | host (visible, importable)
  uint64_t alignment = 64;            // of buffers and of tensor offsets
  uint64_t max_buffer_bytes = 0;      // 0 = no limit
  uint64_t memory_limit_bytes = 0;    // of one device; 0 = no limit
  std::vector<std::string> supports;  // op names; empty = all that have a kernel. "supports": "*" | "add,mul"
  std::vector<std::string> deny;      // op names refused all the same
  bool alternate = false;             // "supports": "alternate": device d of n takes every n-th node
  bool async = false;                 // run on a thread per stream
  uint64_t seed = 1;                  // of the delays
  uint32_t max_delay_us = 0;          // random delay before each asynchronous task
  bool events = true;
  bool programs = true;
  bool peer_copy = true;      // copies between devices of this plugin
  int64_t fault_device = -1;  // which device the two faults below strike; -1 = each
  uint64_t fail_at_call = 0;  // the k-th submission, from 1, fails with fail_code; 0 = never
  bp_code fail_code = BP_E_INTERNAL;
  uint64_t lose_at_call = 0;  // the k-th submission, from 1, loses the device; 0 = never
};

// Throws sdk::Error(BP_E_INVALID_ARG) for an unknown key or a value that makes no sense.
Options parse_options(const void* options, uint32_t count, uint32_t stride);

}  // namespace fake
