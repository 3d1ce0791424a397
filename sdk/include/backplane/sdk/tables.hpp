// The C tables over the classes of plugin.hpp, and the entry point.
//
// Include this in one source file of the plugin and define the entry point there:
//   static constexpr PluginInfo kInfo{"org.example.thing", "1.0.0", &open_thing, nullptr};
//   extern "C" BP_EXPORT bp_proc bp_get_proc_address(const char* name) { return get_proc_address<kInfo>(name); }
// Every function validates its arguments, runs guarded, and throws nothing.
#pragma once

#include <string>
#include <string_view>

#include "backplane/abi/abi.h"
#include "backplane/sdk/graph_view.hpp"
#include "backplane/sdk/plugin.hpp"
#include "backplane/sdk/structs.hpp"

namespace backplane::sdk::detail {

template <class Object>
void require(Object* object, const char* what) {
  if (object == nullptr) throw Error(BP_E_INVALID_ARG, std::string(what) + " is NULL");
}

inline void require_zero(uint32_t reserved) {
  if (reserved != 0) throw Error(BP_E_INVALID_ARG, "a reserved field is not zero");
}

inline void check_range(const Buffer& buffer, uint64_t offset, uint64_t bytes) {
  const uint64_t size = buffer.size_bytes();
  if (offset > size || bytes > size - offset)
    throw Error(BP_E_INVALID_ARG, "range [" + std::to_string(offset) + ", +" + std::to_string(bytes) +
                                      ") leaves a buffer of " + std::to_string(size) + " bytes");
}

// Checks the rows of one side of a copy against its buffer, without overflow.
inline void check_rows(const Buffer& buffer, uint64_t offset, const bp_copy_desc& copy, uint64_t pitch) {
  uint64_t span = copy.row_bytes;
  if (copy.rows > 1 &&
      (__builtin_mul_overflow(copy.rows - 1, pitch, &span) || __builtin_add_overflow(span, copy.row_bytes, &span)))
    throw Error(BP_E_INVALID_ARG, "the rows of a copy overflow");
  check_range(buffer, offset, copy.rows == 0 ? 0 : span);
}

// ---- device

inline bp_code get_info(bp_device* device, bp_device_info* info, bp_error* error) {
  return guard(error, [&] { write_output(info, BP_KIND_DEVICE_INFO, from_handle(device)->info()); });
}

inline bp_code get_memtype(bp_device* device, uint32_t index, bp_memtype_info* info, bp_error* error) {
  return guard(error, [&] {
    const uint32_t count = from_handle(device)->info().memtype_count;
    if (index >= count)
      throw Error(BP_E_INVALID_ARG, "memory type " + std::to_string(index) + " of " + std::to_string(count));
    write_output(info, BP_KIND_MEMTYPE_INFO, from_handle(device)->memtype(index));
  });
}

inline bp_code get_memory(bp_device* device, bp_memory_stats* stats, bp_error* error) {
  return guard(error, [&] { write_output(stats, BP_KIND_MEMORY_STATS, from_handle(device)->memory()); });
}

inline bp_code foreign_access(bp_device* device, const bp_foreign_memory* memory, uint32_t* access, bp_error* error) {
  return guard(error, [&] {
    require(access, "access");
    *access = from_handle(device)->foreign_access(read_input(memory, BP_KIND_FOREIGN_MEMORY));
  });
}

inline bp_code tensor_bytes(bp_device* device, uint32_t memtype, const bp_graph* graph, uint32_t tensor,
                            uint64_t* bytes, bp_error* error) {
  return guard(error, [&] {
    require(bytes, "bytes");
    const GraphView view = GraphView::check(graph);
    if (tensor >= view.tensor_count() || memtype >= from_handle(device)->info().memtype_count)
      throw Error(BP_E_INVALID_ARG, "tensor or memory type out of range");
    *bytes = from_handle(device)->tensor_bytes(memtype, *graph, tensor);
  });
}

// Puts the reason for an answer into the query's text, if there is room.
inline void store_reason(bp_node_query& query, bp_node_answer& answer, std::string_view reason) {
  answer.reason_at = BP_NONE;
  if (reason.empty() || query.text == nullptr || query.text_cap - query.text_len <= reason.size()) return;
  answer.reason_at = static_cast<uint32_t>(query.text_len);
  std::memcpy(query.text + query.text_len, reason.data(), reason.size());
  query.text[query.text_len + reason.size()] = '\0';
  query.text_len += reason.size() + 1;
}

// Writes the i-th answer of a query.
inline void store_answer(const bp_node_query& query, uint32_t i, const bp_node_answer& answer) {
  std::memcpy(static_cast<char*>(query.answers) + static_cast<size_t>(i) * query.answer_stride, &answer, sizeof answer);
}

inline void answer_nodes(Device& device, bp_node_query& query) {
  const GraphView graph = GraphView::check(query.graph);
  std::string reason;
  for (uint32_t i = 0; i < query.node_count; ++i) {
    const uint32_t node = query.nodes != nullptr ? query.nodes[i] : i;
    if (node >= graph.node_count()) throw Error(BP_E_INVALID_ARG, "node " + std::to_string(node) + " is missing");
    reason.clear();
    bp_node_answer answer = device.query(*query.graph, node, reason);
    store_reason(query, answer, reason);
    store_answer(query, i, answer);
  }
}

inline bp_code query_nodes(bp_device* device, bp_node_query* query, bp_error* error) {
  return guard(error, [&] {
    bp_node_query local = read_input(query, BP_KIND_NODE_QUERY);
    if (local.node_count != 0 && (local.answers == nullptr || local.answer_stride < sizeof(bp_node_answer)))
      throw Error(BP_E_INVALID_ARG, "answers is NULL or their stride is too short");
    local.text_len = 0;
    try {
      answer_nodes(*from_handle(device), local);
    } catch (...) {
      for (uint32_t i = 0; i < local.node_count; ++i) store_answer(local, i, {BP_VERDICT_NO, BP_NONE, 0});
      throw;
    }
    query->text_len = local.text_len;
  });
}

inline bp_code buffer_create(bp_device* device, const bp_buffer_desc* desc, bp_buffer** buffer, bp_error* error) {
  return guard(error, [&] {
    require(buffer, "buffer");
    const bp_buffer_desc local = read_input(desc, BP_KIND_BUFFER_DESC);
    if (local.memtype >= from_handle(device)->info().memtype_count)
      throw Error(BP_E_INVALID_ARG, "memory type " + std::to_string(local.memtype) + " is missing");
    if (local.host_ptr != nullptr &&
        (local.host_ptr_use < BP_HOST_PTR_COPY || local.host_ptr_use > BP_HOST_PTR_BORROW_WRITE))
      throw Error(BP_E_INVALID_ARG, "host_ptr_use " + std::to_string(local.host_ptr_use) + " is unknown");
    require_zero(local.reserved);
    *buffer = to_handle<bp_buffer>(from_handle(device)->create_buffer(local).release());
  });
}

inline bp_code stream_create(bp_device* device, const bp_stream_desc* desc, bp_stream** stream, bp_error* error) {
  return guard(error, [&] {
    require(stream, "stream");
    const bp_stream_desc local = read_input(desc, BP_KIND_STREAM_DESC);
    require_zero(local.flags);
    *stream = to_handle<bp_stream>(from_handle(device)->create_stream(local).release());
  });
}

inline bp_code event_create(bp_device* device, const bp_event_desc* desc, bp_event** event, bp_error* error) {
  return guard(error, [&] {
    require(event, "event");
    const bp_event_desc local = read_input(desc, BP_KIND_EVENT_DESC);
    require_zero(local.flags | local.reserved);
    *event = to_handle<bp_event>(from_handle(device)->create_event().release());
  });
}

inline bp_code program_create(bp_device* device, const bp_program_desc* desc, bp_program** program, bp_error* error) {
  return guard(error, [&] {
    require(program, "program");
    const bp_program_desc local = read_input(desc, BP_KIND_PROGRAM_DESC);
    if (local.image != nullptr) unsupported("a program image");
    *program = to_handle<bp_program>(from_handle(device)->compile(GraphView::check(local.graph).record()).release());
  });
}

inline const void* device_extension(bp_device* device, const char* name, uint32_t min_version) {
  const void* table = nullptr;
  if (name != nullptr) guard(nullptr, [&] { table = from_handle(device)->extension(name, min_version); });
  return table;
}

// ---- buffer

inline void buffer_destroy(bp_buffer* buffer) {
  guard(nullptr, [&] { delete from_handle(buffer); });
}

inline bp_code buffer_map(bp_buffer* buffer, uint64_t offset, uint64_t bytes, uint32_t flags, void** address,
                          bp_error* error) {
  return guard(error, [&] {
    require(address, "address");
    check_range(*from_handle(buffer), offset, bytes);
    *address = from_handle(buffer)->map(offset, bytes, flags);
  });
}

inline bp_code buffer_unmap(bp_buffer* buffer, bp_error* error) {
  return guard(error, [&] { from_handle(buffer)->unmap(); });
}

inline bp_code buffer_write(bp_buffer* buffer, uint64_t offset, const void* source, uint64_t bytes, bp_error* error) {
  return guard(error, [&] {
    check_range(*from_handle(buffer), offset, bytes);
    if (bytes == 0) return;
    require(source, "source");
    from_handle(buffer)->write(offset, source, bytes);
  });
}

inline bp_code buffer_read(bp_buffer* buffer, uint64_t offset, void* target, uint64_t bytes, bp_error* error) {
  return guard(error, [&] {
    check_range(*from_handle(buffer), offset, bytes);
    if (bytes == 0) return;
    require(target, "target");
    from_handle(buffer)->read(offset, target, bytes);
  });
}

inline bp_code buffer_fill(bp_buffer* buffer, uint64_t offset, uint64_t bytes, uint8_t byte, bp_error* error) {
  return guard(error, [&] {
    check_range(*from_handle(buffer), offset, bytes);
    from_handle(buffer)->fill(offset, bytes, byte);
  });
}

// ---- stream

inline void stream_destroy(bp_stream* stream) {
  guard(nullptr, [&] { delete from_handle(stream); });
}

inline bp_code stream_submit(bp_stream* stream, const bp_submit_desc* desc, bp_error* error) {
  return guard(error, [&] {
    const bp_submit_desc local = read_input(desc, BP_KIND_SUBMIT_DESC);
    if ((local.graph == nullptr) == (local.program == nullptr))
      throw Error(BP_E_INVALID_ARG, "submit wants either a graph or a program");
    if (local.graph != nullptr) GraphView::check(local.graph);
    require_zero(local.reserved);
    if (local.binding_count != 0) require(local.bindings, "bindings");
    for (uint32_t i = 0; i < local.binding_count; ++i) require_zero(local.bindings[i].reserved);
    from_handle(stream)->submit(local);
  });
}

inline bp_code stream_copy(bp_stream* stream, const bp_copy_desc* desc, bp_error* error) {
  return guard(error, [&] {
    const bp_copy_desc local = read_input(desc, BP_KIND_COPY_DESC);
    if ((local.source == nullptr) == (local.source_host == nullptr) ||
        (local.target == nullptr) == (local.target_host == nullptr))
      throw Error(BP_E_INVALID_ARG, "copy wants exactly one source and one target");
    if (local.source != nullptr)
      check_rows(*from_handle(local.source), local.source_offset, local, local.source_pitch_bytes);
    if (local.target != nullptr)
      check_rows(*from_handle(local.target), local.target_offset, local, local.target_pitch_bytes);
    from_handle(stream)->copy(local);
  });
}

inline bp_code stream_fill(bp_stream* stream, bp_buffer* buffer, uint64_t offset, uint64_t bytes, uint8_t byte,
                           bp_error* error) {
  return guard(error, [&] {
    require(buffer, "buffer");
    check_range(*from_handle(buffer), offset, bytes);
    from_handle(stream)->fill(*from_handle(buffer), offset, bytes, byte);
  });
}

inline bp_code stream_record(bp_stream* stream, bp_event* event, bp_error* error) {
  return guard(error, [&] {
    require(event, "event");
    from_handle(stream)->record(*from_handle(event));
  });
}

inline bp_code stream_wait(bp_stream* stream, bp_event* event, bp_error* error) {
  return guard(error, [&] {
    require(event, "event");
    from_handle(stream)->wait(*from_handle(event));
  });
}

inline bp_code stream_synchronize(bp_stream* stream, uint64_t timeout_ns, bp_error* error) {
  return guard(error, [&]() -> bp_code { return from_handle(stream)->synchronize(timeout_ns, error); });
}

inline bp_code stream_cancel(bp_stream* stream, bp_run_id run, bp_error* error) {
  return guard(error, [&] { from_handle(stream)->cancel(run); });
}

// ---- event, program, plugin

inline void event_destroy(bp_event* event) {
  guard(nullptr, [&] { delete from_handle(event); });
}

inline bp_code event_query(bp_event* event, bp_error* error) {
  return guard(error, [&]() -> bp_code { return from_handle(event)->query(error); });
}

inline bp_code event_wait_host(bp_event* event, uint64_t timeout_ns, bp_error* error) {
  return guard(error, [&]() -> bp_code { return from_handle(event)->wait_host(timeout_ns, error); });
}

inline bp_code event_subscribe(bp_event* event, bp_event_fn fn, void* user, bp_error* error) {
  return guard(error, [&] {
    if (fn == nullptr) throw Error(BP_E_INVALID_ARG, "fn is NULL");
    from_handle(event)->subscribe(fn, user);
  });
}

inline void program_destroy(bp_program* program) {
  guard(nullptr, [&] { delete from_handle(program); });
}

inline bp_code program_update(bp_program* program, const bp_graph* graph, bp_error* error) {
  return guard(error, [&] { from_handle(program)->update(GraphView::check(graph).record()); });
}

inline void plugin_close(bp_plugin* plugin) {
  guard(nullptr, [&] { delete from_handle(plugin); });
}

inline uint32_t plugin_device_count(bp_plugin* plugin) {
  uint32_t count = 0;
  guard(nullptr, [&] { count = from_handle(plugin)->device_count(); });
  return count;
}

inline bp_device* plugin_device_at(bp_plugin* plugin, uint32_t index) {
  bp_device* device = nullptr;
  guard(nullptr, [&] {
    if (index < from_handle(plugin)->device_count()) device = to_handle<bp_device>(&from_handle(plugin)->device(index));
  });
  return device;
}

inline bp_code plugin_set_options(bp_plugin* plugin, const void* options, uint32_t count, uint32_t stride,
                                  bp_error* error) {
  return guard(error, [&] { from_handle(plugin)->set_options(options, count, stride); });
}

inline const void* plugin_extension(bp_plugin* plugin, const char* name, uint32_t min_version) {
  const void* table = nullptr;
  if (name != nullptr) guard(nullptr, [&] { table = from_handle(plugin)->extension(name, min_version); });
  return table;
}

inline constexpr bp_plugin_i kPluginTable{{sizeof(bp_plugin_i), BP_KIND_TABLE_PLUGIN},
                                          plugin_close,
                                          plugin_device_count,
                                          plugin_device_at,
                                          plugin_set_options,
                                          plugin_extension};
inline constexpr bp_device_i kDeviceTable{{sizeof(bp_device_i), BP_KIND_TABLE_DEVICE},
                                          get_info,
                                          get_memtype,
                                          get_memory,
                                          foreign_access,
                                          tensor_bytes,
                                          query_nodes,
                                          buffer_create,
                                          stream_create,
                                          event_create,
                                          program_create,
                                          device_extension};
inline constexpr bp_buffer_i kBufferTable{{sizeof(bp_buffer_i), BP_KIND_TABLE_BUFFER},
                                          buffer_destroy,
                                          buffer_map,
                                          buffer_unmap,
                                          buffer_write,
                                          buffer_read,
                                          buffer_fill,
                                          nullptr,
                                          nullptr};
inline constexpr bp_stream_i kStreamTable{{sizeof(bp_stream_i), BP_KIND_TABLE_STREAM},
                                          stream_destroy,
                                          stream_submit,
                                          stream_copy,
                                          stream_fill,
                                          stream_record,
                                          stream_wait,
                                          stream_synchronize,
                                          stream_cancel};
inline constexpr bp_event_i kEventTable{
    {sizeof(bp_event_i), BP_KIND_TABLE_EVENT}, event_destroy, event_query, event_wait_host, event_subscribe};
inline constexpr bp_program_i kProgramTable{
    {sizeof(bp_program_i), BP_KIND_TABLE_PROGRAM}, program_destroy, program_update, nullptr};

inline uint32_t build_flags() {
  uint32_t flags = 0;
#if defined(__has_feature)  // Clang
  if (__has_feature(address_sanitizer)) flags |= BP_BUILD_ASAN;
  if (__has_feature(thread_sanitizer)) flags |= BP_BUILD_TSAN;
  if (__has_feature(memory_sanitizer)) flags |= BP_BUILD_MSAN;
#endif
#if defined(__SANITIZE_ADDRESS__)  // GCC
  flags |= BP_BUILD_ASAN;
#endif
#if defined(__SANITIZE_THREAD__)
  flags |= BP_BUILD_TSAN;
#endif
#if !defined(NDEBUG)
  flags |= BP_BUILD_DEBUG;
#endif
  return flags;
}

inline std::string version_text(uint32_t version) {
  return std::to_string(BP_VERSION_MAJOR(version)) + "." + std::to_string(BP_VERSION_MINOR(version));
}

inline bp_code refuse_versions(const bp_hello& hello, bp_error* error) noexcept {
  return guard(error, [&] {
    throw Error(BP_E_INCOMPATIBLE, "host speaks ABI " + version_text(hello.abi_min) + " to " +
                                       version_text(hello.abi_max) + " and op sets " + std::to_string(hello.opset_min) +
                                       " to " + std::to_string(hello.opset_max) + "; plugin speaks ABI 1.0 to " +
                                       version_text(BP_ABI_VERSION) + " and op sets 1 to " +
                                       std::to_string(BP_OPSET_VERSION));
  });
}

template <const PluginInfo& kInfo>
bp_code negotiate(const bp_hello* hello, bp_hello_reply* reply, bp_error* error) {
  if (hello == nullptr || hello->kind != BP_KIND_HELLO || hello->size < sizeof(bp_hello) || reply == nullptr ||
      reply->kind != BP_KIND_HELLO_REPLY || reply->size < sizeof(bp_hello_reply))
    return set_error(error, BP_E_INVALID_ARG, "hello or reply is NULL, of a wrong kind or too short");
  const uint32_t abi = hello->abi_max < BP_ABI_VERSION ? hello->abi_max : BP_ABI_VERSION;
  const uint32_t opset = hello->opset_max < BP_OPSET_VERSION ? hello->opset_max : BP_OPSET_VERSION;
  if (hello->abi_min > hello->abi_max || hello->opset_min > hello->opset_max || abi < hello->abi_min ||
      BP_VERSION_MAJOR(abi) != BP_VERSION_MAJOR(BP_ABI_VERSION) || opset < hello->opset_min || opset < 1)
    return refuse_versions(*hello, error);
  reply->abi = abi;
  reply->abi_built = BP_ABI_VERSION;
  reply->opset = opset;
  reply->build = build_flags();
  reply->id = kInfo.id;
  reply->version = kInfo.version;
  return BP_OK;
}

template <const PluginInfo& kInfo>
bp_code probe(int32_t* score, bp_error* error) {
  return guard(error, [&] {
    require(score, "score");
    *score = kInfo.probe();
  });
}

template <const PluginInfo& kInfo>
bp_code open(const bp_open_info* info, bp_opened* opened, bp_error* error) {
  return guard(error, [&] {
    const bp_open_info local = read_input(info, BP_KIND_OPEN_INFO);
    require(local.host_i, "host_i");
    if (!BP_REACHES(local.host_i, bp_host_i, get_extension))
      throw Error(BP_E_INCOMPATIBLE, "the host's table is shorter than ABI 1.0");
    bp_opened result{};
    result.plugin_i = &kPluginTable;
    result.device_i = &kDeviceTable;
    result.buffer_i = &kBufferTable;
    result.stream_i = &kStreamTable;
    result.event_i = &kEventTable;
    result.program_i = &kProgramTable;
    std::unique_ptr<Plugin> plugin = kInfo.open(local, Host(local.host_i, local.host));
    result.plugin = to_handle<bp_plugin>(plugin.get());
    write_output(opened, BP_KIND_OPENED, result);
    plugin.release();
  });
}

}  // namespace backplane::sdk::detail

namespace backplane::sdk {

// The body of bp_get_proc_address for a plugin described by kInfo.
template <const PluginInfo& kInfo>
bp_proc get_proc_address(const char* name) {
  const std::string_view wanted = name != nullptr ? name : "";
  if (wanted == "bp_negotiate") return reinterpret_cast<bp_proc>(&detail::negotiate<kInfo>);
  if (wanted == "bp_probe" && kInfo.probe != nullptr) return reinterpret_cast<bp_proc>(&detail::probe<kInfo>);
  if (wanted == "bp_open.v1") return reinterpret_cast<bp_proc>(&detail::open<kInfo>);
  return nullptr;
}

}  // namespace backplane::sdk
