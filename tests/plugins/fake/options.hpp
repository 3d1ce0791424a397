// What a `fake` plugin is opened with: every way in which the simulated devices can differ. Each key may be given for
// one device alone by its number: {"devices": 2, "memory": "own", "1-memory": "host"}. Thread safety: a value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backplane/sdk/options.hpp"
#include "faults.hpp"

namespace fake {

// Comma-separated op names; "*" = all.
struct OpList {
  bool all = false;
  std::vector<std::string> names;

  bool has(const char* op) const;
};

// What a device can do with the memory of others, each level with those before it.
enum class ForeignAccess { kNone, kCopy, kRead, kWrite };

// One device.
struct Options {
  uint32_t type = BP_DEVICE_ACCEL;  // "type": cpu | gpu | igpu | accel
  bool host_memory = false;         // "memory": own (separate blocks, not mappable) | host (visible, importable)
  // "reads_foreign": none | copy | read (in place, where alignment allows) | write; host memory: write, own: copy
  ForeignAccess foreign = ForeignAccess::kCopy;
  uint64_t alignment = 64;          // of buffers and of tensor offsets
  uint64_t max_buffer_bytes = 0;    // 0 = no limit
  uint64_t memory_limit_bytes = 0;  // of one device; 0 = no limit
  OpList supports{true, {}};        // among the ops that have a kernel
  bool alternate = false;           // "supports": "alternate": device d of n takes every n-th node
  OpList deny;                      // refused all the same
  OpList prefer, slow;              // answered PREFERRED, SLOW
  OpList refuse_compile;            // accepted when asked, UNSUPPORTED when compiled
  OpList refuse_submit;             // accepted when asked, UNSUPPORTED when submitted
  OpList refuse_run;                // accepted when submitted, UNSUPPORTED when run
  OpList overrun;                   // write a word behind their first output, as far as its buffer goes
  bool in_place = true;             // elementwise outputs may use an input's memory
  bool async = false;               // run on a thread per stream
  uint64_t seed = 1;                // of the delays; of the plugin
  uint32_t max_delay_us = 0;        // random delay before each asynchronous task, from 0
  uint32_t long_delay_us = 0;       // of one task in sixteen, on top
  bool events = true;
  bool programs = true;
  bool update = true;             // programs can be updated
  bool peer_copy = true;          // copies between devices of this plugin
  bool null = false;              // submissions and copies do nothing; memory is not poisoned
  std::vector<Fault> faults;      // "fail_<kind>_at": k, "lose_<kind>_at": k, by the names of call_kind.hpp, k from 1;
                                  // "fail_at_call" and "lose_at_call" are those of submissions, as is "hang_at_call"
  bool detect_conflicts = false;  // see conflict_detector.hpp; of the plugin
};

// Returns the options of each device; "devices" says how many. "fail_code" is the code of failures. "fault_device"
// says which device faults are for, -1 = each. Throws sdk::Error(BP_E_INVALID_ARG) for an unknown key or a value that
// makes no sense.
std::vector<Options> parse_options(const void* options, uint32_t count, uint32_t stride);

}  // namespace fake
