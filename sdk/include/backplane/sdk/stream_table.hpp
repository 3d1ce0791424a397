// The C tables of buffers, streams, events and programs over the classes of plugin.hpp. Part of tables.hpp.
// Thread safety: as the tags in abi/buffer.h, abi/stream.h and abi/program.h.
#pragma once

#include "backplane/sdk/device_table.hpp"

namespace backplane::sdk::detail {

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

// ---- event, program

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

}  // namespace backplane::sdk::detail
