#include "options.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace fake {
namespace {

using backplane::sdk::Error;
using backplane::sdk::OptionReader;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

OpList parse_ops(const std::string& text) {
  OpList list{text == "*", {}};
  for (size_t begin = 0; begin < text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    if (comma > begin) list.names.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return list;
}

// Reads the options of one device: "<number>-<key>" if it is there, else "<key>".
class DeviceReader {
 public:
  DeviceReader(OptionReader& reader, uint32_t device)
      : reader_(reader), device_(device), prefix_(std::to_string(device) + '-') {}

  Options read();

 private:
  bool flag(const std::string& key, bool fallback) {
    return reader_.boolean(prefix_ + key, reader_.boolean(key, fallback));
  }
  std::string text(const std::string& key, const char* fallback) {
    return reader_.text(prefix_ + key, reader_.text(key, fallback));
  }
  int64_t integer(const std::string& key, int64_t fallback, int64_t min, int64_t max) {
    return reader_.integer(prefix_ + key, reader_.integer(key, fallback, min, max), min, max);
  }
  uint64_t number(const std::string& key, int64_t max = kMax) { return static_cast<uint64_t>(integer(key, 0, 0, max)); }
  OpList ops(const std::string& key) { return parse_ops(text(key, "")); }
  // The position of the option's text in `values`.
  uint32_t choice(const std::string& key, std::initializer_list<const char*> values, uint32_t fallback);

  void read_memory(Options& options);
  void read_ops(Options& options);
  void read_faults(Options& options);
  void add_fault(Options& options, CallKind kind, const std::string& key, bp_code code);

  OptionReader& reader_;
  const uint32_t device_;
  const std::string prefix_;
};

uint32_t DeviceReader::choice(const std::string& key, std::initializer_list<const char*> values, uint32_t fallback) {
  const std::string found = text(key, values.begin()[fallback]);
  const auto at = std::find(values.begin(), values.end(), found);
  if (at != values.end()) return static_cast<uint32_t>(at - values.begin());
  std::string wanted;
  for (const char* value : values) wanted += std::string(wanted.empty() ? "" : ", ") + value;
  throw Error(BP_E_INVALID_ARG, "option '" + key + "': wanted one of " + wanted + ", found '" + found + "'");
}

void DeviceReader::read_memory(Options& options) {
  options.host_memory = choice("memory", {"own", "host"}, 0) == 1;
  options.foreign = static_cast<ForeignAccess>(
      choice("reads_foreign", {"none", "copy", "read", "write"}, options.host_memory ? 3 : 1));
  options.alignment = static_cast<uint64_t>(integer("alignment", 64, 1, int64_t{1} << 20));
  if (!std::has_single_bit(options.alignment))
    throw Error(BP_E_INVALID_ARG,
                "option 'alignment': wanted a power of two, found " + std::to_string(options.alignment));
  options.max_buffer_bytes = number("max_buffer_bytes");
  options.memory_limit_bytes = number("memory_limit_bytes");
}

void DeviceReader::read_ops(Options& options) {
  const std::string supports = text("supports", "*");
  options.alternate = supports == "alternate";
  options.supports = parse_ops(options.alternate ? "*" : supports);
  options.deny = ops("deny");
  options.prefer = ops("prefer");
  options.slow = ops("slow");
  options.refuse_compile = ops("refuse_compile");
  options.refuse_submit = ops("refuse_submit");
  options.refuse_run = ops("refuse_run");
  options.overrun = ops("overrun");
  options.in_place = flag("in_place", true);
}

void DeviceReader::add_fault(Options& options, CallKind kind, const std::string& key, bp_code code) {
  if (const uint64_t call = number(key); call != 0) options.faults.push_back({kind, call, code});
}

void DeviceReader::read_faults(Options& options) {
  const auto code = static_cast<bp_code>(integer("fail_code", BP_E_INTERNAL, BP_E_NO_HARDWARE, BP_E_UNKNOWN));
  for (uint32_t kind = 0; kind < BP_FAKE_CALL_KINDS; ++kind) {
    const std::string name = kCallKindNames[kind];
    add_fault(options, static_cast<CallKind>(kind), "fail_" + name + "_at", code);
    add_fault(options, static_cast<CallKind>(kind), "lose_" + name + "_at", BP_E_DEVICE_LOST);
  }
  add_fault(options, CallKind::kSubmit, "fail_at_call", code);
  add_fault(options, CallKind::kSubmit, "lose_at_call", BP_E_DEVICE_LOST);
  add_fault(options, CallKind::kSubmit, "hang_at_call", kHang);
  const int64_t only = integer("fault_device", -1, -1, kMax);
  if (only >= 0 && only != int64_t{device_}) options.faults.clear();
}

Options DeviceReader::read() {
  Options options;
  constexpr uint32_t kTypes[] = {BP_DEVICE_CPU, BP_DEVICE_GPU, BP_DEVICE_IGPU, BP_DEVICE_ACCEL};
  options.type = kTypes[choice("type", {"cpu", "gpu", "igpu", "accel"}, 3)];
  read_memory(options);
  read_ops(options);
  options.async = flag("async", false);
  options.max_delay_us = static_cast<uint32_t>(number("max_delay_us", 1'000'000));
  options.long_delay_us = static_cast<uint32_t>(number("long_delay_us", 1'000'000));
  options.events = flag("events", true);
  options.programs = flag("programs", true);
  options.update = flag("update", true);
  options.peer_copy = flag("peer_copy", true);
  options.null = flag("null", false);
  read_faults(options);
  return options;
}

}  // namespace

bool OpList::has(const char* op) const { return all || std::find(names.begin(), names.end(), op) != names.end(); }

std::vector<Options> parse_options(const void* values, uint32_t count, uint32_t stride) {
  OptionReader reader(values, count, stride);
  const auto seed = static_cast<uint64_t>(reader.integer("seed", 1, 0, kMax));
  const bool detect_conflicts = reader.boolean("detect_conflicts", false);
  std::vector<Options> devices(static_cast<size_t>(reader.integer("devices", 1, 0, 64)));
  // Without devices, one is read all the same, so that its options are known and checked.
  if (devices.empty()) DeviceReader(reader, 0).read();
  for (uint32_t i = 0; i < devices.size(); ++i) {
    devices[i] = DeviceReader(reader, i).read();
    devices[i].seed = seed;
    devices[i].detect_conflicts = detect_conflicts;
  }
  reader.finish();
  return devices;
}

}  // namespace fake
