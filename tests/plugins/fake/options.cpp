#include "options.hpp"

#include <bit>
#include <limits>

namespace fake {
namespace {

using backplane::sdk::Error;
using backplane::sdk::OptionReader;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> items;
  for (size_t begin = 0; begin < text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    if (comma > begin) items.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return items;
}

uint32_t parse_type(const std::string& text) {
  if (text == "cpu") return BP_DEVICE_CPU;
  if (text == "gpu") return BP_DEVICE_GPU;
  if (text == "igpu") return BP_DEVICE_IGPU;
  if (text == "accel") return BP_DEVICE_ACCEL;
  throw Error(BP_E_INVALID_ARG, "option 'type': wanted cpu, gpu, igpu or accel, found '" + text + "'");
}

bool parse_host_memory(const std::string& text) {
  if (text != "own" && text != "host")
    throw Error(BP_E_INVALID_ARG, "option 'memory': wanted own or host, found '" + text + "'");
  return text == "host";
}

void parse_supports(const std::string& text, Options& options) {
  options.alternate = text == "alternate";
  if (text != "*" && !options.alternate) options.supports = split_list(text);
}

void parse_faults(OptionReader& reader, Options& options) {
  options.fault_device = reader.integer("fault_device", -1, -1, kMax);
  options.fail_at_call = static_cast<uint64_t>(reader.integer("fail_at_call", 0, 0, kMax));
  options.fail_code = static_cast<bp_code>(reader.integer("fail_code", BP_E_INTERNAL, BP_E_NO_HARDWARE, BP_E_UNKNOWN));
  options.lose_at_call = static_cast<uint64_t>(reader.integer("lose_at_call", 0, 0, kMax));
}

}  // namespace

Options parse_options(const void* values, uint32_t count, uint32_t stride) {
  OptionReader reader(values, count, stride);
  Options options;
  options.devices = static_cast<uint32_t>(reader.integer("devices", 1, 0, 64));
  options.type = parse_type(reader.text("type", "accel"));
  options.host_memory = parse_host_memory(reader.text("memory", "own"));
  options.alignment = static_cast<uint64_t>(reader.integer("alignment", 64, 1, int64_t{1} << 20));
  if (!std::has_single_bit(options.alignment))
    throw Error(BP_E_INVALID_ARG,
                "option 'alignment': wanted a power of two, found " + std::to_string(options.alignment));
  options.max_buffer_bytes = static_cast<uint64_t>(reader.integer("max_buffer_bytes", 0, 0, kMax));
  options.memory_limit_bytes = static_cast<uint64_t>(reader.integer("memory_limit_bytes", 0, 0, kMax));
  parse_supports(reader.text("supports", "*"), options);
  options.deny = split_list(reader.text("deny", ""));
  options.async = reader.boolean("async", false);
  options.seed = static_cast<uint64_t>(reader.integer("seed", 1, 0, kMax));
  options.max_delay_us = static_cast<uint32_t>(reader.integer("max_delay_us", 0, 0, 1'000'000));
  options.events = reader.boolean("events", true);
  options.programs = reader.boolean("programs", true);
  options.peer_copy = reader.boolean("peer_copy", true);
  parse_faults(reader, options);
  reader.finish();
  return options;
}

}  // namespace fake
