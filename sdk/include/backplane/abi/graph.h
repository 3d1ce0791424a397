/* backplane/abi/graph.h -- a graph as index-based, position-independent arrays.
 *
 * Everything is addressed by index into the arrays of one bp_graph, so a graph can be hashed, saved, replayed and
 * sent to another process byte for byte (all but tensor.buffer). Arrays of growable records carry a stride (R7):
 * read elements with bp_tensor_at, bp_node_at, bp_attr_at.
 *
 * Shapes and strides are outermost axis first, as in NumPy, ONNX and PyTorch. Strides are in bytes and may be zero
 * (broadcast) but not negative. For block-quantised types the innermost stride is that of one block, and the innermost
 * extent counts elements, a multiple of the block.
 * Thread safety: a graph is read-only while a call that borrows it runs.
 */
#ifndef BACKPLANE_ABI_GRAPH_H
#define BACKPLANE_ABI_GRAPH_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Element types: types.def. An unknown value means "this tensor is not supported". */
enum {
#define BP_TYPE(NAME, id, name, block_elements, block_bytes) BP_TYPE_##NAME = id,
#include "types.def"
#undef BP_TYPE
};

/* Ops and attribute keys: ops.def, attrs.def. An unknown op means "this node is not supported". */
enum {
#define BP_OP(NAME, id, name, version) BP_OP_##NAME = id,
#include "ops.def"
#undef BP_OP
};
enum {
#define BP_ATTR(NAME, id, name, type) BP_ATTR_##NAME = id,
#include "attrs.def"
#undef BP_ATTR
};

/* One tensor, or a view of one. */
typedef struct bp_tensor {
  uint32_t dtype;     /* BP_TYPE_*, or from BP_NAMED_BASE on an interned name */
  uint32_t rank;      /* number of axes; 0 = scalar; no upper limit but the device's max_rank */
  uint32_t shape_at;  /* index into i64[]: `rank` extents, each >= 0 */
  uint32_t stride_at; /* index into i64[]: `rank` byte strides */
  uint32_t flags;     /* BP_TENSOR_*; unknown bits are ignored */
  uint32_t view_of;   /* the tensor that owns the memory (never itself a view), or BP_NONE */
  uint32_t name_at;   /* offset into text[] of a NUL-terminated name, or BP_NONE */
  uint32_t reserved;  /* zero */
  uint64_t offset;    /* bytes: from `buffer`'s base if bound, else from the start of view_of's memory */
  uint64_t bytes;     /* memory that the tensor may touch, from `offset` on; includes the plugin's own padding */
  bp_buffer *buffer;  /* a buffer of the plugin that is called, or NULL = unbound (queries, compilation) */
} bp_tensor;
#define BP_TENSOR_INPUT 0x1u  /* written by the host before each run */
#define BP_TENSOR_OUTPUT 0x2u /* read by the host after each run */
#define BP_TENSOR_WEIGHT 0x4u /* constant across runs: a plugin may pack it once */
#define BP_TENSOR_STATE 0x8u  /* kept between runs, read and written in place (KV caches) */
#define BP_TENSOR_KEEP 0x10u  /* memory must not be recycled within the run */

/* One operation. Nodes stand in topological order. */
typedef struct bp_node {
  uint32_t op;         /* BP_OP_*, or from BP_NAMED_BASE on an interned "vendor.op" */
  uint32_t op_version; /* version of the op's written definition, from 1 */
  uint32_t in_at;      /* index into u32[]: `in_count` tensor indices, BP_NONE = optional input absent */
  uint32_t in_count;
  uint32_t out_at; /* index into u32[]: `out_count` tensor indices, BP_NONE = output not wanted */
  uint32_t out_count;
  uint32_t attr_at; /* index of the first attribute */
  uint32_t attr_count;
  uint32_t flags;    /* BP_NODE_*; unknown bits are ignored */
  uint32_t reserved; /* zero */
  uint64_t tag;      /* the host's name for the node, echoed in profiles and errors */
} bp_node;
#define BP_NODE_SIDE_EFFECT 0x1u /* must run, in order, even if nobody reads its outputs */

/* One typed attribute of a node. */
typedef struct bp_attr {
  uint32_t key;   /* BP_ATTR_*, or from BP_NAMED_BASE on an interned name */
  uint32_t type;  /* BP_ATTR_TYPE_*: which of the fields below holds the value */
  uint32_t flags; /* BP_ATTR_FLAG_*; unknown bits are ignored */
  uint32_t at;    /* lists, text, blob: index of the first element in the pool of that type */
  uint64_t count; /* lists: elements; text and blob: bytes, without a NUL */
  int64_t i;      /* BP_ATTR_TYPE_I64 */
  double f;       /* BP_ATTR_TYPE_F64 */
} bp_attr;
#define BP_ATTR_TYPE_I64 1u
#define BP_ATTR_TYPE_F64 2u
#define BP_ATTR_TYPE_TEXT 3u
#define BP_ATTR_TYPE_I64S 4u
#define BP_ATTR_TYPE_F64S 5u
#define BP_ATTR_TYPE_BLOB 6u
#define BP_ATTR_FLAG_IGNORABLE 0x1u /* without it, an unknown key means: answer "not supported" */

/* A graph. The arrays are the caller's. */
typedef struct bp_graph {
  bp_head head;
  uint64_t key; /* the host's structural hash of everything but bindings; 0 = none. Equal keys may share programs */
  uint32_t tensor_count;
  uint32_t tensor_stride; /* bytes from one bp_tensor to the next */
  uint32_t node_count;
  uint32_t node_stride;
  uint32_t attr_count;
  uint32_t attr_stride;
  uint32_t in_at; /* index into u32[]: the tensors that come from outside */
  uint32_t in_count;
  uint32_t out_at; /* index into u32[]: the tensors that are read outside */
  uint32_t out_count;
  const void *tensors;
  const void *nodes;
  const void *attrs;
  const int64_t *i64;
  uint64_t i64_count;
  const uint32_t *u32;
  uint64_t u32_count;
  const double *f64;
  uint64_t f64_count;
  const char *text;
  uint64_t text_bytes;
  const uint8_t *blob;
  uint64_t blob_bytes;
} bp_graph;

static inline const bp_tensor *bp_tensor_at(const bp_graph *graph, uint32_t index) {
  return (const bp_tensor *)(const void *)((const char *)graph->tensors + (size_t)index * graph->tensor_stride);
}
static inline const bp_node *bp_node_at(const bp_graph *graph, uint32_t index) {
  return (const bp_node *)(const void *)((const char *)graph->nodes + (size_t)index * graph->node_stride);
}
static inline const bp_attr *bp_attr_at(const bp_graph *graph, uint32_t index) {
  return (const bp_attr *)(const void *)((const char *)graph->attrs + (size_t)index * graph->attr_stride);
}

#ifdef __cplusplus
}
#endif
#endif
