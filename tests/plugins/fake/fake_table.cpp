#include "fake_table.hpp"

#include <algorithm>
#include <cstring>

#include "device.hpp"

namespace fake {
namespace {

Device& device_of(bp_device* handle) { return static_cast<Device&>(*backplane::sdk::from_handle(handle)); }

void BP_CALL get_counters(bp_device* handle, bp_fake_counters* target) {
  Device& device = device_of(handle);
  const Counters& counters = device.counters();
  *target = {};
  for (uint32_t kind = 0; kind < BP_FAKE_CALL_KINDS; ++kind)
    target->calls[kind] = device.faults().calls(static_cast<CallKind>(kind));
  target->nodes = counters.nodes;
  target->copied_bytes = counters.copied_bytes;
  target->written_bytes = counters.written_bytes;
  target->read_bytes = counters.read_bytes;
  target->queries = counters.queries;
  target->queried_nodes = counters.queried_nodes;
  target->live_buffers = counters.live_buffers;
  target->live_bytes = device.memory_pool().stats().used;
  target->live_streams = counters.live_streams;
  target->live_events = counters.live_events;
  target->live_programs = counters.live_programs;
}

void BP_CALL reset(bp_device* handle) {
  device_of(handle).counters().reset();
  device_of(handle).faults().reset();
}

void BP_CALL set_fault(bp_device* handle, uint32_t kind, uint64_t ahead, bp_code code) {
  if (kind < BP_FAKE_CALL_KINDS) device_of(handle).faults().set(static_cast<CallKind>(kind), ahead, code);
}

uint64_t BP_CALL conflicts(bp_device* handle, char* text, uint64_t text_cap) {
  ConflictDetector& detector = device_of(handle).detector();
  const std::string first = detector.first();
  if (text != nullptr && text_cap != 0) {
    const size_t length = std::min<size_t>(first.size(), text_cap - 1);
    std::memcpy(text, first.data(), length);
    text[length] = '\0';
  }
  return detector.count();
}

constexpr bp_ext_fake kTable{{sizeof(bp_ext_fake), BP_KIND_TABLE_EXTENSION}, get_counters, reset, set_fault, conflicts};

}  // namespace

const bp_ext_fake* fake_table(uint32_t min_version) { return min_version <= 1 ? &kTable : nullptr; }

}  // namespace fake
