// The C table of devices over sdk::Device, and the argument checks that the other tables share. Part of tables.hpp.
// Thread safety: as the tags in abi/device.h.
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

}  // namespace backplane::sdk::detail
