// The C++ face of the ABI: a plugin derives from these classes; tables.hpp puts them behind the C tables.
//
// Ownership: what a create function returns is deleted by `destroy`. Every function may throw; sdk::Error carries an
// ABI code. Functions with a default body are optional. Threads: as the tags in the ABI headers.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/abi/abi.h"
#include "backplane/sdk/error.hpp"

namespace backplane::sdk {

[[noreturn]] inline void unsupported(const char* what) {
  throw Error(BP_E_UNSUPPORTED, std::string(what) + " is not supported by this plugin");
}

// The host's services, as handed to `open`. A small value; valid until the plugin is closed.
class Host {
 public:
  Host(const bp_host_i* table, bp_host* context) : table_(table), context_(context) {}

  void log(int32_t level, std::string_view text) const { table_->log(context_, level, text.data(), text.size()); }
  uint32_t worker_count() const { return table_->worker_count(context_); }
  bool cancelled(bp_run_id run) const { return table_->cancelled(context_, run) != 0; }
  uint32_t intern(const char* name, uint32_t name_space) const { return table_->intern(context_, name, name_space); }
  void device_event(bp_device* device, uint32_t what) const { table_->device_event(context_, device, what, nullptr); }
  // Runs body(0) ... body(count - 1), all at the same time if `gang`. Throws what the host refuses; body must not
  // throw.
  template <class Body>
  void parallel(uint32_t count, bool gang, const Body& body) const {
    const auto task = [](void* arg, uint32_t i) { (*static_cast<const Body*>(arg))(i); };
    const bp_code code = table_->parallel_for(context_, count, gang ? BP_PARALLEL_GANG : 0, task,
                                              const_cast<void*>(static_cast<const void*>(&body)));
    if (code < 0) throw Error(code, "the host's worker pool refused a parallel region");
  }

 private:
  const bp_host_i* table_;
  bp_host* context_;
};

class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual uint64_t size_bytes() const = 0;  // tables.hpp checks every range against it
  virtual void* map(uint64_t /*offset*/, uint64_t /*bytes*/, uint32_t /*flags*/) { unsupported("map"); }
  virtual void unmap() { unsupported("unmap"); }
  virtual void write(uint64_t offset, const void* source, uint64_t bytes) = 0;
  virtual void read(uint64_t offset, void* target, uint64_t bytes) = 0;
  virtual void fill(uint64_t offset, uint64_t bytes, uint8_t byte) = 0;
};

class Event {
 public:
  virtual ~Event() = default;
  virtual bp_code query(bp_error* error) = 0;  // BP_OK, BP_NOT_READY, or the stored error
  virtual bp_code wait_host(uint64_t timeout_ns, bp_error* error) = 0;
  virtual void subscribe(bp_event_fn /*fn*/, void* /*user*/) { unsupported("subscribe"); }
};

class Program {
 public:
  virtual ~Program() = default;
  virtual void update(const bp_graph& /*graph*/) { unsupported("update"); }
};

class Stream {
 public:
  virtual ~Stream() = default;  // drains
  // `work` is complete (sizes evened out); exactly one of graph and program is set.
  virtual void submit(const bp_submit_desc& work) = 0;
  virtual void copy(const bp_copy_desc& copy) = 0;  // ranges of own buffers are checked
  virtual void fill(Buffer& buffer, uint64_t offset, uint64_t bytes, uint8_t byte) = 0;
  virtual void record(Event& /*event*/) { unsupported("record"); }
  virtual void wait(Event& /*event*/) { unsupported("wait"); }
  virtual bp_code synchronize(uint64_t timeout_ns, bp_error* error) = 0;
  virtual void cancel(bp_run_id /*run*/) { unsupported("cancel"); }
};

class Device {
 public:
  virtual ~Device() = default;
  virtual bp_device_info info() = 0;                    // head is ignored
  virtual bp_memtype_info memtype(uint32_t index) = 0;  // index is in range; head is ignored
  virtual bp_memory_stats memory() = 0;                 // head is ignored
  virtual uint32_t foreign_access(const bp_foreign_memory& /*memory*/) { return 0; }
  virtual uint64_t tensor_bytes(uint32_t memtype, const bp_graph& graph, uint32_t tensor);
  // Answers one node of a checked graph; `reason` is for NO and SLOW.
  virtual bp_node_answer query(const bp_graph& graph, uint32_t node, std::string& reason) = 0;
  virtual std::unique_ptr<Buffer> create_buffer(const bp_buffer_desc& desc) = 0;
  virtual std::unique_ptr<Stream> create_stream(const bp_stream_desc& desc) = 0;
  virtual std::unique_ptr<Event> create_event() { unsupported("event_create"); }
  virtual std::unique_ptr<Program> compile(const bp_graph& /*graph*/) { unsupported("program_create"); }
  virtual const void* extension(std::string_view /*name*/, uint32_t /*min_version*/) { return nullptr; }
};

inline uint64_t Device::tensor_bytes(uint32_t, const bp_graph& graph, uint32_t tensor) {
  return bp_tensor_at(&graph, tensor)->bytes;
}

class Plugin {
 public:
  virtual ~Plugin() = default;  // close
  virtual uint32_t device_count() const = 0;
  virtual Device& device(uint32_t index) = 0;  // index is in range
  virtual void set_options(const void* /*options*/, uint32_t /*count*/, uint32_t /*stride*/) {
    throw Error(BP_E_STATE, "options of this plugin can be set only when it is opened");
  }
  virtual const void* extension(std::string_view /*name*/, uint32_t /*min_version*/) { return nullptr; }
};

// What a plugin library is. A constant with static storage, given to get_proc_address as a template argument.
struct PluginInfo {
  const char* id;       // "org.example.thing"
  const char* version;  // "1.0.0"
  std::unique_ptr<Plugin> (*open)(const bp_open_info& info, Host host);
  int32_t (*probe)();  // NULL = always usable; 0 = not here; throws Error(BP_E_NO_HARDWARE, why)
};

// The handle of an object as the ABI sees it, and back. Null maps to null.
template <class Handle, class Object>
Handle* to_handle(Object* object) {
  return reinterpret_cast<Handle*>(object);
}
inline Device* from_handle(bp_device* handle) { return reinterpret_cast<Device*>(handle); }
inline Buffer* from_handle(bp_buffer* handle) { return reinterpret_cast<Buffer*>(handle); }
inline Stream* from_handle(bp_stream* handle) { return reinterpret_cast<Stream*>(handle); }
inline Event* from_handle(bp_event* handle) { return reinterpret_cast<Event*>(handle); }
inline Program* from_handle(bp_program* handle) { return reinterpret_cast<Program*>(handle); }
inline Plugin* from_handle(bp_plugin* handle) { return reinterpret_cast<Plugin*>(handle); }

}  // namespace backplane::sdk
