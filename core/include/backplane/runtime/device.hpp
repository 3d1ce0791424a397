// Device: one device of a plugin, and what can be made on it.
//
// Devices belong to the Runtime and live as long as it does. Everything made on a device must be destroyed before.
// Thread safety: Device from any thread; Stream, Buffer and Program calls are serialised per object by the caller.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/abi/device.h"
#include "backplane/abi/plugin.h"
#include "backplane/base/status.hpp"
#include "backplane/runtime/memory.hpp"
#include "backplane/runtime/node_answers.hpp"
#include "backplane/runtime/stream.hpp"

namespace backplane {

struct MemoryType {
  std::string name;
  uint32_t flags = 0;      // BP_MEM_*
  uint64_t alignment = 1;  // bytes, a power of two
  uint64_t max_bytes = 0;  // of one buffer; 0 = no limit

  bool host_visible() const { return (flags & BP_MEM_HOST_VISIBLE) != 0; }
  bool coherent() const { return (flags & BP_MEM_COHERENT) != 0; }
};

// Unknown figures are absent.
struct MemoryStats {
  std::optional<uint64_t> total, free, used, peak, largest_free, reserved_pool;  // bytes
};

class Device {
 public:
  // Reads the device's information. `tables` and `handle` belong to an open plugin that outlives the device.
  static Result<std::unique_ptr<Device>> make(const bp_opened& tables, bp_device* handle, std::string plugin_id,
                                              uint32_t index);

  const std::string& name() const { return name_; }  // short, unique in the runtime, such as "cpu0"
  void rename(std::string name) { name_ = std::move(name); }
  const std::string& description() const { return description_; }
  const std::string& plugin_id() const { return plugin_id_; }
  // "<plugin-id>:<index>"
  std::string selector() const;
  const std::string& bus_id() const { return bus_id_; }  // empty = none
  const std::array<uint8_t, 16>& uuid() const { return uuid_; }
  bool has_uuid() const { return uuid_ != std::array<uint8_t, 16>{}; }
  std::string uuid_text() const;  // 32 lower-case hexadecimal digits
  // What names the hardware best: "uuid:...", "pci:...", or the selector.
  std::string identity() const;
  // The selector of an earlier device of another plugin that shows the same hardware; empty = none is known.
  const std::string& alias_of() const { return alias_of_; }
  void set_alias_of(std::string selector) { alias_of_ = std::move(selector); }
  uint32_t type() const { return type_; }  // BP_DEVICE_*
  std::string_view type_name() const;      // "cpu", "gpu", "igpu", "accel"
  uint64_t caps() const { return caps_; }  // BP_CAP_*
  bool has(uint64_t cap) const { return (caps_ & cap) == cap; }
  uint32_t max_rank() const { return max_rank_; }  // 0 = no limit
  const std::vector<MemoryType>& memory_types() const { return memory_types_; }

  Result<MemoryStats> memory() const;
  // BP_ACCESS_* bits.
  Result<uint32_t> foreign_access(const bp_foreign_memory& memory) const;
  // Bytes that tensor `tensor` needs in memory type `memtype`.
  Result<uint64_t> tensor_bytes(uint32_t memtype, const bp_graph& graph, uint32_t tensor) const;
  // One answer per node asked about; `nodes` empty = all nodes of the graph.
  Result<NodeAnswers> query(const bp_graph& graph, std::span<const uint32_t> nodes = {}) const;

  // Allocates; contents are undefined.
  Result<Buffer> allocate(uint32_t memtype, uint64_t bytes, uint32_t usage);
  // Borrows host memory until the Buffer is destroyed. Errors: unimplemented if the device cannot.
  Result<Buffer> import(uint32_t memtype, const void* memory, uint64_t bytes, uint32_t usage, bool writable);
  Result<Stream> create_stream();
  Result<Event> create_event();
  // Compiles an unbound graph. Errors: unimplemented when the device has no programs or not for this graph.
  Result<Program> compile(const bp_graph& graph);

  // A table of a device extension, or null.
  template <class Table>
  const Table* extension(const char* name, uint32_t min_version = 1) const {
    return static_cast<const Table*>(get_extension(name, min_version));
  }

  bp_device* handle() const { return handle_; }
  const bp_opened& tables() const { return tables_; }

 private:
  Device() = default;
  const void* get_extension(const char* name, uint32_t min_version) const;
  Status read_memory_types(uint32_t count);
  Result<Buffer> create_buffer(const bp_buffer_desc& desc);

  bp_opened tables_{};
  bp_device* handle_ = nullptr;
  std::string plugin_id_, name_, description_, bus_id_, alias_of_;
  uint32_t index_ = 0, type_ = 0, max_rank_ = 0;
  uint64_t caps_ = 0;
  std::array<uint8_t, 16> uuid_{};
  std::vector<MemoryType> memory_types_;
};

}  // namespace backplane
