/* A complete plugin in plain C11, written for ABI 1.0 and FROZEN: it stands for the plugins of 1.0 that are out there.
 * Never edit it. If it stops building or loading, the ABI was broken, not this file.
 *
 * One device in host memory that negates dense f32 tensors, synchronously. Thread safety: as the ABI asks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backplane/abi/abi.h"

#define ALIGNMENT 64u

/* Handles are opaque: each object is known only to this file. */
struct bp_plugin {
  int unused;
};
struct bp_device {
  int unused;
};
struct bp_buffer {
  unsigned char* data;
  uint64_t bytes;
};
struct bp_stream {
  int unused;
};

static struct bp_device the_device;

static bp_code fail(bp_error* error, bp_code code, const char* text) {
  if (error == NULL || error->size < sizeof *error) return code;
  error->code = code;
  error->native_code = 0;
  error->flags = 0;
  error->message_len = (uint32_t)strlen(text);
  if (error->message != NULL && error->message_cap != 0) (void)snprintf(error->message, error->message_cap, "%s", text);
  return code;
}

/* R5: at most what the caller's struct holds, and never its head. */
static bp_code give(bp_head* target, const bp_head* source, uint32_t kind, size_t own_size, bp_error* error) {
  if (target == NULL || target->kind != kind || target->size < sizeof *target)
    return fail(error, BP_E_INVALID_ARG, "v1: an output struct is NULL or of a wrong kind");
  const size_t size = target->size < own_size ? target->size : own_size;
  memcpy((char*)target + sizeof *target, (const char*)source + sizeof *source, size - sizeof *source);
  return BP_OK;
}

/* R4, R9. */
static int readable(const bp_head* head, uint32_t kind, size_t size) {
  if (head == NULL || head->kind != kind || head->size < size) return 0;
  for (const bp_head* next = head->next; next != NULL; next = next->next)
    if ((next->kind & BP_KIND_MUST_UNDERSTAND) != 0) return 0;
  return 1;
}

/* ---- buffers */

static void BP_CALL buffer_destroy(bp_buffer* buffer) {
  if (buffer == NULL) return;
  free(buffer->data);
  free(buffer);
}

static int inside(const bp_buffer* buffer, uint64_t offset, uint64_t bytes) {
  return offset <= buffer->bytes && bytes <= buffer->bytes - offset;
}

static bp_code BP_CALL buffer_map(bp_buffer* buffer, uint64_t offset, uint64_t bytes, uint32_t flags, void** address,
                                  bp_error* error) {
  (void)flags;
  if (!inside(buffer, offset, bytes)) return fail(error, BP_E_INVALID_ARG, "v1: map leaves the buffer");
  *address = buffer->data + offset;
  return BP_OK;
}

static bp_code BP_CALL buffer_unmap(bp_buffer* buffer, bp_error* error) {
  (void)buffer;
  (void)error;
  return BP_OK;
}

static bp_code BP_CALL buffer_write(bp_buffer* buffer, uint64_t offset, const void* source, uint64_t bytes,
                                    bp_error* error) {
  if (!inside(buffer, offset, bytes)) return fail(error, BP_E_INVALID_ARG, "v1: write leaves the buffer");
  if (bytes != 0) memcpy(buffer->data + offset, source, bytes);
  return BP_OK;
}

static bp_code BP_CALL buffer_read(bp_buffer* buffer, uint64_t offset, void* target, uint64_t bytes, bp_error* error) {
  if (!inside(buffer, offset, bytes)) return fail(error, BP_E_INVALID_ARG, "v1: read leaves the buffer");
  if (bytes != 0) memcpy(target, buffer->data + offset, bytes);
  return BP_OK;
}

static bp_code BP_CALL buffer_fill(bp_buffer* buffer, uint64_t offset, uint64_t bytes, uint8_t byte, bp_error* error) {
  if (!inside(buffer, offset, bytes)) return fail(error, BP_E_INVALID_ARG, "v1: fill leaves the buffer");
  if (bytes != 0) memset(buffer->data + offset, byte, bytes);
  return BP_OK;
}

/* ---- the one op */

/* Returns the number of elements of a dense f32 tensor, or -1 for any other. */
static int64_t dense_f32(const bp_graph* graph, uint32_t index) {
  if (index >= graph->tensor_count) return -1;
  const bp_tensor* tensor = bp_tensor_at(graph, index);
  int64_t expected = 4;
  if (tensor->dtype != BP_TYPE_F32) return -1;
  for (uint32_t axis = tensor->rank; axis-- > 0;) {
    if (graph->i64[tensor->stride_at + axis] != expected) return -1;
    expected *= graph->i64[tensor->shape_at + axis];
  }
  return expected / 4;
}

/* Returns the number of elements of a node that can run here, or -1. */
static int64_t negatable(const bp_graph* graph, const bp_node* node) {
  if (node->op != BP_OP_NEG || node->in_count != 1 || node->out_count != 1 || node->attr_count != 0) return -1;
  const int64_t elements = dense_f32(graph, graph->u32[node->in_at]);
  return elements == dense_f32(graph, graph->u32[node->out_at]) ? elements : -1;
}

static float* values_of(const bp_graph* graph, uint32_t index, int64_t elements) {
  const bp_tensor* tensor = bp_tensor_at(graph, index);
  if (tensor->buffer == NULL || !inside(tensor->buffer, tensor->offset, (uint64_t)elements * 4)) return NULL;
  return (float*)(void*)(tensor->buffer->data + tensor->offset);
}

/* ---- the stream: everything is done when the call returns */

static void BP_CALL stream_destroy(bp_stream* stream) { free(stream); }

static bp_code BP_CALL stream_submit(bp_stream* stream, const bp_submit_desc* desc, bp_error* error) {
  (void)stream;
  if (!readable(&desc->head, BP_KIND_SUBMIT_DESC, sizeof *desc) || desc->graph == NULL)
    return fail(error, BP_E_INVALID_ARG, "v1: submit wants a graph");
  const bp_graph* graph = desc->graph;
  for (uint32_t i = 0; i < graph->node_count; ++i) {
    const bp_node* node = bp_node_at(graph, i);
    const int64_t elements = negatable(graph, node);
    if (elements < 0) return fail(error, BP_E_UNSUPPORTED, "v1: only neg of dense f32");
    const float* input = values_of(graph, graph->u32[node->in_at], elements);
    float* output = values_of(graph, graph->u32[node->out_at], elements);
    if (input == NULL || output == NULL) return fail(error, BP_E_INVALID_ARG, "v1: a tensor leaves its buffer");
    for (int64_t k = 0; k < elements; ++k) output[k] = -input[k];
  }
  return BP_OK;
}

/* Copies one row after another; NULL `own` means host memory. */
static bp_code BP_CALL stream_copy(bp_stream* stream, const bp_copy_desc* desc, bp_error* error) {
  (void)stream;
  if (!readable(&desc->head, BP_KIND_COPY_DESC, sizeof *desc))
    return fail(error, BP_E_INVALID_ARG, "v1: a bad copy descriptor");
  for (uint64_t row = 0; row < desc->rows; ++row) {
    const uint64_t from = row * desc->source_pitch_bytes, to = row * desc->target_pitch_bytes;
    if ((desc->source != NULL && !inside(desc->source, desc->source_offset + from, desc->row_bytes)) ||
        (desc->target != NULL && !inside(desc->target, desc->target_offset + to, desc->row_bytes)))
      return fail(error, BP_E_INVALID_ARG, "v1: copy leaves a buffer");
    const char* source =
        desc->source != NULL ? (const char*)desc->source->data + desc->source_offset : (const char*)desc->source_host;
    char* target = desc->target != NULL ? (char*)desc->target->data + desc->target_offset : (char*)desc->target_host;
    memcpy(target + to, source + from, desc->row_bytes);
  }
  return BP_OK;
}

static bp_code BP_CALL stream_fill(bp_stream* stream, bp_buffer* buffer, uint64_t offset, uint64_t bytes, uint8_t byte,
                                   bp_error* error) {
  (void)stream;
  return buffer_fill(buffer, offset, bytes, byte, error);
}

static bp_code BP_CALL stream_synchronize(bp_stream* stream, uint64_t timeout_ns, bp_error* error) {
  (void)stream;
  (void)timeout_ns;
  (void)error;
  return BP_OK;
}

/* ---- the device */

static bp_code BP_CALL get_info(bp_device* device, bp_device_info* info, bp_error* error) {
  (void)device;
  const bp_device_info own = {.name = "v1",
                              .description = "frozen plugin of ABI 1.0",
                              .type = BP_DEVICE_ACCEL,
                              .numa_node = BP_NONE,
                              .memtype_count = 1};
  return give((bp_head*)info, &own.head, BP_KIND_DEVICE_INFO, sizeof own, error);
}

static bp_code BP_CALL get_memtype(bp_device* device, uint32_t index, bp_memtype_info* info, bp_error* error) {
  (void)device;
  const bp_memtype_info own = {.name = "host", .flags = BP_MEM_HOST_VISIBLE | BP_MEM_COHERENT, .alignment = ALIGNMENT};
  if (index != 0) return fail(error, BP_E_INVALID_ARG, "v1: there is one memory type");
  return give((bp_head*)info, &own.head, BP_KIND_MEMTYPE_INFO, sizeof own, error);
}

static bp_code BP_CALL get_memory(bp_device* device, bp_memory_stats* stats, bp_error* error) {
  (void)device;
  const bp_memory_stats nothing_known = {.valid = 0};
  return give((bp_head*)stats, &nothing_known.head, BP_KIND_MEMORY_STATS, sizeof nothing_known, error);
}

static bp_code BP_CALL tensor_bytes(bp_device* device, uint32_t memtype, const bp_graph* graph, uint32_t tensor,
                                    uint64_t* bytes, bp_error* error) {
  (void)device;
  if (memtype != 0 || tensor >= graph->tensor_count) return fail(error, BP_E_INVALID_ARG, "v1: index out of range");
  *bytes = bp_tensor_at(graph, tensor)->bytes;
  return BP_OK;
}

static bp_code BP_CALL query_nodes(bp_device* device, bp_node_query* query, bp_error* error) {
  (void)device;
  if (!readable(&query->head, BP_KIND_NODE_QUERY, sizeof *query) || query->answer_stride < sizeof(bp_node_answer))
    return fail(error, BP_E_INVALID_ARG, "v1: a bad query");
  for (uint32_t i = 0; i < query->node_count; ++i) {
    const uint32_t node = query->nodes != NULL ? query->nodes[i] : i;
    const int yes = node < query->graph->node_count && negatable(query->graph, bp_node_at(query->graph, node)) >= 0;
    const bp_node_answer answer = {yes ? BP_VERDICT_YES : BP_VERDICT_NO, BP_NONE, yes ? 1u : 0u};
    memcpy((char*)query->answers + (size_t)i * query->answer_stride, &answer, sizeof answer);
  }
  query->text_len = 0;
  return BP_OK;
}

static bp_code BP_CALL buffer_create(bp_device* device, const bp_buffer_desc* desc, bp_buffer** buffer,
                                     bp_error* error) {
  (void)device;
  if (!readable(&desc->head, BP_KIND_BUFFER_DESC, sizeof *desc) || desc->memtype != 0)
    return fail(error, BP_E_INVALID_ARG, "v1: a bad buffer descriptor");
  if (desc->host_ptr != NULL) return fail(error, BP_E_UNSUPPORTED, "v1: no import");
  if (desc->bytes > SIZE_MAX - ALIGNMENT) return fail(error, BP_E_DEVICE_MEMORY, "v1: too large");
  bp_buffer* made = calloc(1, sizeof *made);
  if (made == NULL) return fail(error, BP_E_HOST_MEMORY, "v1: no memory for a buffer");
  made->bytes = desc->bytes;
  made->data = aligned_alloc(ALIGNMENT, (desc->bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT);
  if (made->data == NULL) {
    free(made);
    return fail(error, BP_E_DEVICE_MEMORY, "v1: no memory for a buffer's bytes");
  }
  *buffer = made;
  return BP_OK;
}

static bp_code BP_CALL stream_create(bp_device* device, const bp_stream_desc* desc, bp_stream** stream,
                                     bp_error* error) {
  (void)device;
  if (!readable(&desc->head, BP_KIND_STREAM_DESC, sizeof *desc))
    return fail(error, BP_E_INVALID_ARG, "v1: a bad stream descriptor");
  bp_stream* made = calloc(1, sizeof *made);
  if (made == NULL) return fail(error, BP_E_HOST_MEMORY, "v1: no memory for a stream");
  *stream = made;
  return BP_OK;
}

/* ---- the plugin */

static void BP_CALL close_plugin(bp_plugin* plugin) { free(plugin); }

static uint32_t BP_CALL device_count(bp_plugin* plugin) {
  (void)plugin;
  return 1;
}

static bp_device* BP_CALL device_at(bp_plugin* plugin, uint32_t index) {
  (void)plugin;
  return index == 0 ? &the_device : NULL;
}

static const bp_plugin_i plugin_table = {.head = {sizeof(bp_plugin_i), BP_KIND_TABLE_PLUGIN},
                                         .close = close_plugin,
                                         .device_count = device_count,
                                         .device_at = device_at};
static const bp_device_i device_table = {.head = {sizeof(bp_device_i), BP_KIND_TABLE_DEVICE},
                                         .get_info = get_info,
                                         .get_memtype = get_memtype,
                                         .get_memory = get_memory,
                                         .tensor_bytes = tensor_bytes,
                                         .query_nodes = query_nodes,
                                         .buffer_create = buffer_create,
                                         .stream_create = stream_create};
static const bp_buffer_i buffer_table = {.head = {sizeof(bp_buffer_i), BP_KIND_TABLE_BUFFER},
                                         .destroy = buffer_destroy,
                                         .map = buffer_map,
                                         .unmap = buffer_unmap,
                                         .write = buffer_write,
                                         .read = buffer_read,
                                         .fill = buffer_fill};
static const bp_stream_i stream_table = {.head = {sizeof(bp_stream_i), BP_KIND_TABLE_STREAM},
                                         .destroy = stream_destroy,
                                         .submit = stream_submit,
                                         .copy = stream_copy,
                                         .fill = stream_fill,
                                         .synchronize = stream_synchronize};

static bp_code BP_CALL open_plugin(const bp_open_info* info, bp_opened* opened, bp_error* error) {
  if (!readable(&info->head, BP_KIND_OPEN_INFO, sizeof *info))
    return fail(error, BP_E_INVALID_ARG, "v1: a bad open info");
  if (info->option_count != 0) return fail(error, BP_E_INVALID_ARG, "v1: there are no options");
  bp_plugin* plugin = calloc(1, sizeof *plugin);
  if (plugin == NULL) return fail(error, BP_E_HOST_MEMORY, "v1: no memory for the plugin");
  const bp_opened own = {.plugin = plugin,
                         .plugin_i = &plugin_table,
                         .device_i = &device_table,
                         .buffer_i = &buffer_table,
                         .stream_i = &stream_table};
  const bp_code code = give((bp_head*)opened, &own.head, BP_KIND_OPENED, sizeof own, error);
  if (code < 0) free(plugin);
  return code;
}

static bp_code BP_CALL negotiate(const bp_hello* hello, bp_hello_reply* reply, bp_error* error) {
  const uint32_t abi = BP_VERSION(1, 0);
  if (hello == NULL || hello->kind != BP_KIND_HELLO || reply == NULL || reply->kind != BP_KIND_HELLO_REPLY)
    return fail(error, BP_E_INVALID_ARG, "v1: a bad hello");
  if (hello->abi_min > abi || hello->abi_max < abi || hello->opset_min > 1 || hello->opset_max < 1) {
    char text[160];
    (void)snprintf(text, sizeof text,
                   "v1 speaks ABI 1.0 and op set 1; the host speaks ABI %u.%u to %u.%u, op sets %u to %u",
                   BP_VERSION_MAJOR(hello->abi_min), BP_VERSION_MINOR(hello->abi_min), BP_VERSION_MAJOR(hello->abi_max),
                   BP_VERSION_MINOR(hello->abi_max), hello->opset_min, hello->opset_max);
    return fail(error, BP_E_INCOMPATIBLE, text);
  }
  reply->abi = abi;
  reply->abi_built = abi;
  reply->opset = 1;
  reply->build = 0;
  reply->id = "org.backplane.test.v1";
  reply->version = "1.0.0";
  return BP_OK;
}

BP_EXPORT bp_proc BP_CALL bp_get_proc_address(const char* name) {
  if (name == NULL) return NULL;
  if (strcmp(name, "bp_negotiate") == 0) return (bp_proc)negotiate;
  if (strcmp(name, "bp_open.v1") == 0) return (bp_proc)open_plugin;
  return NULL;
}
