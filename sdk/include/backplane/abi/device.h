/* backplane/abi/device.h -- a device: what it is, what memory it has, what it can run, and what it creates.
 *
 * A device belongs to its plugin and lives until the plugin is closed. Listing devices and reading their
 * information creates no driver context and does no device work.
 */
#ifndef BACKPLANE_ABI_DEVICE_H
#define BACKPLANE_ABI_DEVICE_H

#include "base.h"
#include "graph.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BP_DEVICE_CPU 1u
#define BP_DEVICE_GPU 2u   /* with memory of its own */
#define BP_DEVICE_IGPU 3u  /* shares the host's memory */
#define BP_DEVICE_ACCEL 4u /* anything else that computes; unknown values count as this */

#define BP_CAP_ASYNC (1ull << 0)       /* submit may return before the work is done */
#define BP_CAP_EVENTS (1ull << 1)      /* event_create, record, wait and the event table are there */
#define BP_CAP_IMPORT_HOST (1ull << 2) /* buffer_create accepts host_ptr */
#define BP_CAP_PEER_COPY (1ull << 3)   /* copies between this plugin's devices work directly */
#define BP_CAP_CANCEL (1ull << 4)      /* stream cancel is there */
#define BP_CAP_PROGRAMS (1ull << 5)    /* program_create is there */

/* (out) What a device is. Strings are the plugin's and live until it is closed. */
typedef struct bp_device_info {
  bp_head head;
  const char *name;        /* short and stable, such as "cpu0"; unique within the plugin */
  const char *description; /* for people, such as the processor's brand string */
  const char *bus_id;      /* "dddd:bb:dd.f" of a PCI device, or NULL */
  uint8_t uuid[16];        /* joins devices that several plugins show; all zero = unknown */
  uint32_t type;           /* BP_DEVICE_* */
  uint32_t numa_node;      /* BP_NONE = unknown */
  uint64_t caps;           /* BP_CAP_*; unknown bits are ignored */
  uint64_t memory_total;   /* bytes; 0 = unknown */
  uint32_t memtype_count;  /* at least 1; memory type 0 is the default for compute */
  uint32_t max_rank;       /* largest tensor rank; 0 = no limit */
} bp_device_info;

#define BP_MEM_DEVICE 0x01u       /* local to the device */
#define BP_MEM_HOST_VISIBLE 0x02u /* map works */
#define BP_MEM_HOST_PINNED 0x04u  /* page-locked: copies from and to the device are fast */
#define BP_MEM_COHERENT 0x08u     /* host and device see each other's writes at stream synchronisation */
#define BP_MEM_PRIVATE_FMT 0x10u  /* the bytes are the plugin's own layout: only upload and download touch them */

/* (out) One memory type of a device. */
typedef struct bp_memtype_info {
  bp_head head;
  const char *name;   /* such as "host", "device", "pinned"; the plugin's */
  uint32_t flags;     /* BP_MEM_*; unknown bits are ignored */
  uint32_t reserved;  /* zero */
  uint64_t alignment; /* bytes, a power of two: of buffer bases and of tensor offsets */
  uint64_t max_bytes; /* largest single buffer, a hard limit; 0 = no limit */
} bp_memtype_info;

/* (out) Memory figures of a device, in bytes. A figure that is not known is not valid, never 0. */
typedef struct bp_memory_stats {
  bp_head head;
  uint64_t valid;         /* bit k set = the k-th field below was filled */
  uint64_t total;         /* bit 0 */
  uint64_t free;          /* bit 1; at most total */
  uint64_t used;          /* bit 2; by this plugin */
  uint64_t peak;          /* bit 3; largest `used` so far */
  uint64_t largest_free;  /* bit 4; largest block that can be had */
  uint64_t reserved_pool; /* bit 5; held by the plugin's own caches */
} bp_memory_stats;
#define BP_STATS_TOTAL (1ull << 0)
#define BP_STATS_FREE (1ull << 1)
#define BP_STATS_USED (1ull << 2)
#define BP_STATS_PEAK (1ull << 3)
#define BP_STATS_LARGEST_FREE (1ull << 4)
#define BP_STATS_RESERVED_POOL (1ull << 5)

#define BP_HANDLE_NONE 0u
#define BP_HANDLE_HOST_POINTER 1u /* mapped into this process */
#define BP_HANDLE_DMA_BUF 2u      /* a Linux dma-buf file descriptor */

/* (in) How the host describes memory of somebody else: by data, never by a foreign object. */
typedef struct bp_foreign_memory {
  bp_head head;
  const char *plugin_id;    /* the owner; "" = the application's own memory */
  const char *memtype_name; /* the owner's name for the memory type */
  uint8_t device_uuid[16];
  uint32_t memtype_flags; /* BP_MEM_* */
  uint32_t handle_type;   /* BP_HANDLE_*; unknown = answer no access */
  uint64_t alignment;     /* bytes that the address is known to be aligned to */
} bp_foreign_memory;
#define BP_ACCESS_READ_IN_PLACE 0x1u  /* kernels may read it once it is imported */
#define BP_ACCESS_WRITE_IN_PLACE 0x2u /* and write it */
#define BP_ACCESS_COPY_FROM 0x4u      /* stream copy can read it */
#define BP_ACCESS_COPY_TO 0x8u        /* and write it */

#define BP_VERDICT_NO 0u        /* cannot run this node; unknown values count as this */
#define BP_VERDICT_YES 1u       /* a promise: for exactly these types, shapes, strides and attributes */
#define BP_VERDICT_PREFERRED 2u /* yes, and worth moving its weights here for one run */
#define BP_VERDICT_SLOW 3u      /* yes, but emulated */

/* (out) The answer for one node; element of an array with a stride (R7). */
typedef struct bp_node_answer {
  uint32_t verdict;    /* BP_VERDICT_* */
  uint32_t reason_at;  /* offset into the query's text of a NUL-terminated reason for NO or SLOW, or BP_NONE */
  uint64_t alias_mask; /* bit 8*k + j: output k may use input j's memory, if shape, type and strides are equal */
} bp_node_answer;

/* (in, out) A question about nodes of a graph whose tensors may be unbound. */
typedef struct bp_node_query {
  bp_head head;
  const bp_graph *graph;
  const uint32_t *nodes; /* indices of the nodes asked about, or NULL = all of the graph, in order */
  uint32_t node_count;
  uint32_t answer_stride; /* bytes from one bp_node_answer to the next; at least 16 */
  void *answers;          /* `node_count` zeroed elements; NULL is not allowed unless node_count is 0 */
  char *text;             /* storage for reasons, may be NULL */
  uint64_t text_cap;      /* bytes at `text`; reasons that do not fit are left out */
  uint64_t text_len;      /* (out) bytes used */
} bp_node_query;

#define BP_USAGE_WEIGHTS 1u /* written once, read often */
#define BP_USAGE_COMPUTE 2u /* activations */
#define BP_USAGE_STAGING 4u /* on its way between devices */

#define BP_HOST_PTR_COPY 1u        /* copied during the call: the plugin never looks at host_ptr again */
#define BP_HOST_PTR_BORROW_READ 2u /* used in place until destroy; never written */
#define BP_HOST_PTR_BORROW_WRITE 3u

/* (in) A buffer to be made. */
typedef struct bp_buffer_desc {
  bp_head head;
  uint32_t memtype;      /* index into the device's memory types */
  uint32_t usage;        /* BP_USAGE_* bits: a hint */
  uint64_t bytes;        /* 0 is legal and gives a buffer without memory */
  void *host_ptr;        /* NULL = allocate; else import this memory (needs BP_CAP_IMPORT_HOST) */
  uint32_t host_ptr_use; /* BP_HOST_PTR_*, 0 if host_ptr is NULL */
  uint32_t reserved;     /* zero */
  bp_release_fn release; /* may be NULL; called once when the plugin stops using host_ptr, not if create fails */
  void *release_user;
} bp_buffer_desc;

/* (in) A stream to be made. */
typedef struct bp_stream_desc {
  bp_head head;
  uint32_t priority; /* 0 = normal, larger = sooner; a hint */
  uint32_t flags;    /* zero */
} bp_stream_desc;

/* (in) An event to be made. */
typedef struct bp_event_desc {
  bp_head head;
  uint32_t flags;    /* zero */
  uint32_t reserved; /* zero */
} bp_event_desc;

/* (in) A program to be made, from a graph or from what serialize wrote. */
typedef struct bp_program_desc {
  bp_head head;
  const bp_graph *graph; /* unbound; borrowed for the call */
  const void *image;     /* NULL, or bytes from bp_program_i.serialize for the same graph and device */
  uint64_t image_bytes;
} bp_program_desc;

typedef struct bp_device_i {
  bp_table_head head;

  /* Fills in what the device is. Cheap: no device work.
   * [any] */
  bp_code(BP_CALL *get_info)(bp_device *device, bp_device_info *info, bp_error *error);

  /* Fills in memory type `index`, below info.memtype_count.
   * Errors: BP_E_INVALID_ARG index out of range.
   * [any] */
  bp_code(BP_CALL *get_memtype)(bp_device *device, uint32_t index, bp_memtype_info *info, bp_error *error);

  /* Fills in the memory figures that are known now. Must not create or reset a driver context.
   * Errors: BP_E_DEVICE_LOST.
   * [any] */
  bp_code(BP_CALL *get_memory)(bp_device *device, bp_memory_stats *stats, bp_error *error);

  /* Says how this device can reach memory of somebody else: BP_ACCESS_* bits in *access, 0 = not at all.
   * Optional: without it, not at all.
   * [any] */
  bp_code(BP_CALL *foreign_access)(bp_device *device, const bp_foreign_memory *memory, uint32_t *access,
                                   bp_error *error);

  /* Computes the bytes that a tensor needs in a memory type, padding or packing included.
   * Errors: BP_E_INVALID_ARG index out of range; BP_E_UNSUPPORTED the type cannot live there.
   * [any] */
  bp_code(BP_CALL *tensor_bytes)(bp_device *device, uint32_t memtype, const bp_graph *graph, uint32_t tensor,
                                 uint64_t *bytes, bp_error *error);

  /* Answers which nodes the device can run. Pure: equal questions get equal answers, and no memory is touched.
   * Errors: BP_E_INVALID_ARG a malformed graph or index; the answers are then all BP_VERDICT_NO.
   * [any] */
  bp_code(BP_CALL *query_nodes)(bp_device *device, bp_node_query *query, bp_error *error);

  /* Allocates or imports memory; contents of allocated memory are undefined.
   * Owns:   the caller destroys *buffer.
   * Errors: BP_E_DEVICE_MEMORY; BP_E_INVALID_ARG memtype, larger than max_bytes, or misaligned host_ptr;
   *         BP_E_UNSUPPORTED import. *buffer is left alone.
   * [any] */
  bp_code(BP_CALL *buffer_create)(bp_device *device, const bp_buffer_desc *desc, bp_buffer **buffer, bp_error *error);

  /* Makes a stream. Owns: the caller destroys *stream.
   * [any] */
  bp_code(BP_CALL *stream_create)(bp_device *device, const bp_stream_desc *desc, bp_stream **stream, bp_error *error);

  /* Makes an event, not yet recorded. Optional: with BP_CAP_EVENTS. Owns: the caller destroys *event.
   * [any] */
  bp_code(BP_CALL *event_create)(bp_device *device, const bp_event_desc *desc, bp_event **event, bp_error *error);

  /* Compiles a graph that query_nodes accepted whole. Optional: with BP_CAP_PROGRAMS.
   * Owns:   the caller destroys *program; nothing of desc is kept.
   * Errors: BP_E_UNSUPPORTED the host goes on without a program; BP_E_INCOMPATIBLE the image is of another build.
   * [any] */
  bp_code(BP_CALL *program_create)(bp_device *device, const bp_program_desc *desc, bp_program **program,
                                   bp_error *error);

  /* Returns a table of a device extension of at least `min_version`, or NULL. See extension.h. Optional.
   * [any] */
  const void *(BP_CALL *get_extension)(bp_device *device, const char *name, uint32_t min_version);
} bp_device_i;

#ifdef __cplusplus
}
#endif
#endif
