#include "plugin_tables.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <tuple>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

// Stands in for a slot that the plugin leaves empty; the last argument is the caller's bp_error.
template <class... Args>
bp_code BP_CALL answer_unsupported(Args... args) {
  constexpr std::string_view kText = "the plugin does not implement this function";
  bp_error* error = std::get<sizeof...(Args) - 1>(std::make_tuple(args...));
  if (error == nullptr) return BP_E_UNSUPPORTED;
  error->code = BP_E_UNSUPPORTED;
  error->message_len = kText.size();
  if (error->message != nullptr && error->message_cap > 0) {
    const size_t length = std::min<size_t>(kText.size(), error->message_cap - 1);
    std::memcpy(error->message, kText.data(), length);
    error->message[length] = '\0';
  }
  return BP_E_UNSUPPORTED;
}

template <class Handle>
void BP_CALL destroy_nothing(Handle*) {}

template <class Handle>
const void* BP_CALL no_extension(Handle*, const char*, uint32_t) {
  return nullptr;
}

bp_code BP_CALL no_foreign_access(bp_device*, const bp_foreign_memory*, uint32_t* access, bp_error*) {
  *access = 0;
  return BP_OK;
}

template <class... Args>
void fill_optional(bp_code(BP_CALL*& slot)(Args...)) {
  if (slot == nullptr) slot = answer_unsupported<Args...>;
}

// Copies what both sides know of a table into `own`, which is zero. `base_bytes` is the table's size in ABI 1.0.
template <class Table>
Status copy_table(const Table* from, uint32_t kind, size_t base_bytes, std::string_view name, Table& own) {
  if (from == nullptr)
    return failed_precondition(cat("the plugin's open returned no ", name, " table"), "tables.missing");
  if (from->head.kind != kind)
    return failed_precondition(cat("the ", name, " table has kind ", from->head.kind, ", not ", kind), "tables.kind");
  if (from->head.size < base_bytes)
    return failed_precondition(cat("the ", name, " table has ", from->head.size, " bytes; ABI 1.0 has ", base_bytes),
                               "tables.size");
  std::memcpy(static_cast<void*>(&own), from, std::min<size_t>(from->head.size, sizeof own));
  own.head.size = sizeof own;
  return {};
}

struct Slot {
  const char* name;
  bool present;
};

Status check_slots(std::string_view table, std::initializer_list<Slot> slots) {
  for (const Slot& slot : slots)
    if (!slot.present)
      return failed_precondition(cat("the ", table, " table lacks the required function '", slot.name, "'"),
                                 "tables.slot");
  return {};
}

// The bytes up to and with a field, which is the last of ABI 1.0.
#define BP_BYTES_THROUGH(Table, field) (offsetof(Table, field) + sizeof(Table::field))
#define BP_SLOT(table, field) \
  Slot { #field, (table).field != nullptr }

Status adopt_plugin(const bp_plugin_i* from, bp_plugin_i& own) {
  BP_TRY(copy_table(from, BP_KIND_TABLE_PLUGIN, BP_BYTES_THROUGH(bp_plugin_i, get_extension), "plugin", own));
  fill_optional(own.set_options);
  if (own.get_extension == nullptr) own.get_extension = no_extension<bp_plugin>;
  return check_slots("plugin", {BP_SLOT(own, close), BP_SLOT(own, device_count), BP_SLOT(own, device_at)});
}

Status adopt_device(const bp_device_i* from, bp_device_i& own) {
  BP_TRY(copy_table(from, BP_KIND_TABLE_DEVICE, BP_BYTES_THROUGH(bp_device_i, get_extension), "device", own));
  fill_optional(own.event_create);
  fill_optional(own.program_create);
  if (own.foreign_access == nullptr) own.foreign_access = no_foreign_access;
  if (own.get_extension == nullptr) own.get_extension = no_extension<bp_device>;
  return check_slots("device", {BP_SLOT(own, get_info), BP_SLOT(own, get_memtype), BP_SLOT(own, get_memory),
                                BP_SLOT(own, tensor_bytes), BP_SLOT(own, query_nodes), BP_SLOT(own, buffer_create),
                                BP_SLOT(own, stream_create)});
}

Status adopt_buffer(const bp_buffer_i* from, bp_buffer_i& own) {
  BP_TRY(copy_table(from, BP_KIND_TABLE_BUFFER, BP_BYTES_THROUGH(bp_buffer_i, download), "buffer", own));
  fill_optional(own.map);
  fill_optional(own.unmap);
  fill_optional(own.upload);
  fill_optional(own.download);
  return check_slots("buffer", {BP_SLOT(own, destroy), BP_SLOT(own, write), BP_SLOT(own, read), BP_SLOT(own, fill)});
}

Status adopt_stream(const bp_stream_i* from, bp_stream_i& own) {
  BP_TRY(copy_table(from, BP_KIND_TABLE_STREAM, BP_BYTES_THROUGH(bp_stream_i, cancel), "stream", own));
  fill_optional(own.record);
  fill_optional(own.wait);
  fill_optional(own.cancel);
  return check_slots("stream", {BP_SLOT(own, destroy), BP_SLOT(own, submit), BP_SLOT(own, copy), BP_SLOT(own, fill),
                                BP_SLOT(own, synchronize)});
}

// A plugin without events gives NULL; then all slots are stubs.
Status adopt_event(const bp_event_i* from, bp_event_i& own) {
  if (from != nullptr) {
    BP_TRY(copy_table(from, BP_KIND_TABLE_EVENT, BP_BYTES_THROUGH(bp_event_i, subscribe), "event", own));
    BP_TRY(check_slots("event", {BP_SLOT(own, destroy), BP_SLOT(own, query), BP_SLOT(own, wait_host)}));
  } else {
    own.head = {sizeof own, BP_KIND_TABLE_EVENT};
    own.destroy = destroy_nothing<bp_event>;
  }
  fill_optional(own.query);
  fill_optional(own.wait_host);
  fill_optional(own.subscribe);
  return {};
}

Status adopt_program(const bp_program_i* from, bp_program_i& own) {
  if (from != nullptr) {
    BP_TRY(copy_table(from, BP_KIND_TABLE_PROGRAM, BP_BYTES_THROUGH(bp_program_i, serialize), "program", own));
    BP_TRY(check_slots("program", {BP_SLOT(own, destroy)}));
  } else {
    own.head = {sizeof own, BP_KIND_TABLE_PROGRAM};
    own.destroy = destroy_nothing<bp_program>;
  }
  fill_optional(own.update);
  fill_optional(own.serialize);
  return {};
}

#undef BP_SLOT
#undef BP_BYTES_THROUGH

}  // namespace

Status PluginTables::adopt(const bp_opened& opened) {
  BP_TRY(adopt_plugin(opened.plugin_i, plugin_));
  opened_ = {{sizeof opened_, BP_KIND_OPENED, nullptr},
             opened.plugin,
             &plugin_,
             &device_,
             &buffer_,
             &stream_,
             &event_,
             &program_};
  BP_TRY(adopt_device(opened.device_i, device_));
  BP_TRY(adopt_buffer(opened.buffer_i, buffer_));
  BP_TRY(adopt_stream(opened.stream_i, stream_));
  BP_TRY(adopt_event(opened.event_i, event_));
  return adopt_program(opened.program_i, program_);
}

}  // namespace backplane
