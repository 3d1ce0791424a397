#include "backplane/runtime/device.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "backplane/base/text.hpp"
#include "registry/plugin/plugin_call.hpp"

namespace backplane {
namespace {

constexpr uint32_t kMaxMemoryTypes = 64;      // beyond this a count is garbage
constexpr uint64_t kReasonBytesPerNode = 96;  // a sentence; reasons that do not fit are left out
constexpr uint64_t kMaxReasonBytes = 1u << 20;

std::string text_or_empty(const char* text) { return text ? text : ""; }

// Short names stand in comma-separated lists and beside "<id>:<index>".
bool is_short_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

Status bad_device(std::string_view device, std::string_view what) {
  return failed_precondition(cat("device '", device, "': ", what), "enumerate.bad-device");
}

template <class Struct>
Struct make_struct(uint32_t kind) {
  Struct made = {};
  made.head = {sizeof made, kind, nullptr};
  return made;
}

// An object that create returned, or the failure if it returned none.
template <class Handle>
Status check_created(const Device& device, std::string_view what, Handle* handle) {
  return handle ? Status() : internal_error(cat(device.name(), ": ", what, " succeeded without an object"));
}

std::optional<uint64_t> figure(const bp_memory_stats& stats, uint64_t bit, uint64_t value) {
  return (stats.valid & bit) != 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<Device>> Device::make(const bp_opened& tables, bp_device* handle, std::string plugin_id,
                                             uint32_t index) {
  std::unique_ptr<Device> device(new Device());
  device->tables_ = tables;
  device->handle_ = handle;
  device->plugin_id_ = std::move(plugin_id);
  device->index_ = index;
  auto info = make_struct<bp_device_info>(BP_KIND_DEVICE_INFO);
  BP_TRY(call_plugin("get_info", [&](bp_error* error) {
           return tables.device_i->get_info(handle, &info, error);
         }).with_context(device->selector()));
  device->name_ = text_or_empty(info.name);
  if (!is_short_name(device->name_))
    return bad_device(device->selector(), cat("'", device->name_, "' is no device name; use A-Z a-z 0-9 . _ -"));
  device->description_ = text_or_empty(info.description);
  device->bus_id_ = to_lower(text_or_empty(info.bus_id));
  std::copy(std::begin(info.uuid), std::end(info.uuid), device->uuid_.begin());
  device->type_ = info.type >= BP_DEVICE_CPU && info.type <= BP_DEVICE_ACCEL ? info.type : BP_DEVICE_ACCEL;
  device->caps_ = info.caps;
  device->max_rank_ = info.max_rank;
  BP_TRY(device->read_memory_types(info.memtype_count));
  return device;
}

Status Device::read_memory_types(uint32_t count) {
  if (count == 0 || count > kMaxMemoryTypes)
    return bad_device(name_, cat("says it has ", count, " memory types; 1 to ", kMaxMemoryTypes, " are possible"));
  for (uint32_t i = 0; i < count; ++i) {
    auto info = make_struct<bp_memtype_info>(BP_KIND_MEMTYPE_INFO);
    BP_TRY(call_plugin("get_memtype", [&](bp_error* error) {
             return tables_.device_i->get_memtype(handle_, i, &info, error);
           }).with_context(selector()));
    if (!std::has_single_bit(info.alignment))
      return bad_device(name_, cat("memory type ", i, " has alignment ", info.alignment, ", not a power of two"));
    memory_types_.push_back({text_or_empty(info.name), info.flags, info.alignment, info.max_bytes});
  }
  return {};
}

std::string Device::selector() const { return cat(plugin_id_, ":", index_); }

std::string Device::uuid_text() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : uuid_) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string Device::identity() const {
  if (has_uuid()) return cat("uuid:", uuid_text());
  return bus_id_.empty() ? selector() : cat("pci:", bus_id_);
}

std::string_view Device::type_name() const {
  switch (type_) {
    case BP_DEVICE_CPU:
      return "cpu";
    case BP_DEVICE_GPU:
      return "gpu";
    case BP_DEVICE_IGPU:
      return "igpu";
    default:
      return "accel";
  }
}

Result<MemoryStats> Device::memory() const {
  auto stats = make_struct<bp_memory_stats>(BP_KIND_MEMORY_STATS);
  BP_TRY(call_plugin("get_memory", [&](bp_error* error) {
           return tables_.device_i->get_memory(handle_, &stats, error);
         }).with_context(name_));
  MemoryStats out;
  out.total = figure(stats, BP_STATS_TOTAL, stats.total);
  out.free = figure(stats, BP_STATS_FREE, stats.free);
  out.used = figure(stats, BP_STATS_USED, stats.used);
  out.peak = figure(stats, BP_STATS_PEAK, stats.peak);
  out.largest_free = figure(stats, BP_STATS_LARGEST_FREE, stats.largest_free);
  out.reserved_pool = figure(stats, BP_STATS_RESERVED_POOL, stats.reserved_pool);
  // More free than there is: the figure is wrong, so it is not known.
  if (out.total && out.free && *out.free > *out.total) out.free.reset();
  return out;
}

Result<uint32_t> Device::foreign_access(const bp_foreign_memory& memory) const {
  uint32_t access = 0;
  BP_TRY(call_plugin("foreign_access", [&](bp_error* error) {
           return tables_.device_i->foreign_access(handle_, &memory, &access, error);
         }).with_context(name_));
  return access;
}

Result<uint64_t> Device::tensor_bytes(uint32_t memtype, const bp_graph& graph, uint32_t tensor) const {
  uint64_t bytes = 0;
  BP_TRY(call_plugin("tensor_bytes", [&](bp_error* error) {
           return tables_.device_i->tensor_bytes(handle_, memtype, &graph, tensor, &bytes, error);
         }).with_context(name_));
  return bytes;
}

Result<NodeAnswers> Device::query(const bp_graph& graph, std::span<const uint32_t> nodes) const {
  const size_t count = nodes.empty() ? graph.node_count : nodes.size();
  if (count >= BP_NONE) return invalid_argument(cat(name_, ": ", count, " nodes are too many for one query"));
  std::vector<bp_node_answer> answers(count, bp_node_answer{BP_VERDICT_NO, BP_NONE, 0});
  std::string text(std::min<uint64_t>(count * kReasonBytesPerNode, kMaxReasonBytes), 0);
  auto query = make_struct<bp_node_query>(BP_KIND_NODE_QUERY);
  query.graph = &graph;
  query.nodes = nodes.empty() ? nullptr : nodes.data();
  query.node_count = static_cast<uint32_t>(count);
  query.answer_stride = sizeof(bp_node_answer);
  query.answers = answers.data();
  query.text = text.data();
  query.text_cap = text.size();
  BP_TRY(call_plugin("query_nodes", [&](bp_error* error) {
           return tables_.device_i->query_nodes(handle_, &query, error);
         }).with_context(name_));
  text.resize(std::min<uint64_t>(query.text_len, text.size()));
  text.shrink_to_fit();
  return NodeAnswers(std::move(answers), std::move(text));
}

Result<Buffer> Device::allocate(uint32_t memtype, uint64_t bytes, uint32_t usage) {
  auto desc = make_struct<bp_buffer_desc>(BP_KIND_BUFFER_DESC);
  desc.memtype = memtype;
  desc.usage = usage;
  desc.bytes = bytes;
  return create_buffer(desc);
}

Result<Buffer> Device::import(uint32_t memtype, const void* memory, uint64_t bytes, uint32_t usage, bool writable) {
  if (!has(BP_CAP_IMPORT_HOST)) return unimplemented(cat(name_, " cannot use host memory in place"));
  if (memory == nullptr) return invalid_argument(cat(name_, ": import of a NULL pointer"));
  auto desc = make_struct<bp_buffer_desc>(BP_KIND_BUFFER_DESC);
  desc.memtype = memtype;
  desc.usage = usage;
  desc.bytes = bytes;
  desc.host_ptr = const_cast<void*>(memory);  // a read-only loan unless the caller says writable
  desc.host_ptr_use = writable ? BP_HOST_PTR_BORROW_WRITE : BP_HOST_PTR_BORROW_READ;
  return create_buffer(desc);
}

Result<Buffer> Device::create_buffer(const bp_buffer_desc& desc) {
  if (desc.memtype >= memory_types_.size())
    return invalid_argument(cat(name_, " has ", memory_types_.size(), " memory types; there is no ", desc.memtype));
  const MemoryType& type = memory_types_[desc.memtype];
  if (type.max_bytes != 0 && desc.bytes > type.max_bytes)
    return invalid_argument(cat(name_, ": a buffer of ", bytes_text(desc.bytes), " in '", type.name,
                                "' memory; the limit is ", bytes_text(type.max_bytes)));
  bp_buffer* buffer = nullptr;
  BP_TRY(call_plugin("buffer_create", [&](bp_error* error) {
           return tables_.device_i->buffer_create(handle_, &desc, &buffer, error);
         }).with_context(name_));
  BP_TRY(check_created(*this, "buffer_create", buffer));
  return Buffer(*this, buffer, desc.memtype, desc.usage, desc.bytes);
}

Result<Stream> Device::create_stream() {
  const auto desc = make_struct<bp_stream_desc>(BP_KIND_STREAM_DESC);
  bp_stream* stream = nullptr;
  BP_TRY(call_plugin("stream_create", [&](bp_error* error) {
           return tables_.device_i->stream_create(handle_, &desc, &stream, error);
         }).with_context(name_));
  BP_TRY(check_created(*this, "stream_create", stream));
  return Stream(*this, stream);
}

Result<Event> Device::create_event() {
  const auto desc = make_struct<bp_event_desc>(BP_KIND_EVENT_DESC);
  bp_event* event = nullptr;
  BP_TRY(call_plugin("event_create", [&](bp_error* error) {
           return tables_.device_i->event_create(handle_, &desc, &event, error);
         }).with_context(name_));
  BP_TRY(check_created(*this, "event_create", event));
  return Event(*this, event);
}

Result<Program> Device::compile(const bp_graph& graph) {
  auto desc = make_struct<bp_program_desc>(BP_KIND_PROGRAM_DESC);
  desc.graph = &graph;
  bp_program* program = nullptr;
  BP_TRY(call_plugin("program_create", [&](bp_error* error) {
           return tables_.device_i->program_create(handle_, &desc, &program, error);
         }).with_context(name_));
  BP_TRY(check_created(*this, "program_create", program));
  return Program(*this, program);
}

const void* Device::get_extension(const char* name, uint32_t min_version) const {
  return tables_.device_i->get_extension(handle_, name, min_version);
}

}  // namespace backplane
