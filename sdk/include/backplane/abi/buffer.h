/* backplane/abi/buffer.h -- a block of memory of one memory type of one device.
 *
 * A buffer must outlive the work that uses it: the host destroys it only after the streams that touch it are
 * synchronised. Ranges are [offset, offset + bytes); a range that overflows or leaves the buffer is
 * BP_E_INVALID_ARG, and nothing is touched. bytes = 0 is legal everywhere.
 */
#ifndef BACKPLANE_ABI_BUFFER_H
#define BACKPLANE_ABI_BUFFER_H

#include "base.h"
#include "graph.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BP_MAP_READ 0x1u
#define BP_MAP_WRITE 0x2u

typedef struct bp_buffer_i {
  bp_table_head head;

  /* Frees the buffer, or ends the loan of imported memory. NULL is ignored. Waits for nothing.
   * [any] */
  void(BP_CALL *destroy)(bp_buffer *buffer);

  /* Gives the host an address for a range. Optional: with BP_MEM_HOST_VISIBLE. May be called again while mapped;
   * for BP_MEM_COHERENT memory the address is that of the bytes themselves and stays valid until destroy.
   * [obj] */
  bp_code(BP_CALL *map)(bp_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t flags, void **address,
                        bp_error *error);

  /* Ends one map, making the host's writes visible to the device. Optional like map.
   * [obj] */
  bp_code(BP_CALL *unmap)(bp_buffer *buffer, bp_error *error);

  /* Copies from host memory into a range; blocking. The host keeps it apart from work on the same range.
   * Errors: BP_E_UNSUPPORTED for BP_MEM_PRIVATE_FMT.
   * [obj] */
  bp_code(BP_CALL *write)(bp_buffer *buffer, uint64_t offset, const void *source, uint64_t bytes, bp_error *error);

  /* Copies a range into host memory; blocking. Errors as write.
   * [obj] */
  bp_code(BP_CALL *read)(bp_buffer *buffer, uint64_t offset, void *target, uint64_t bytes, bp_error *error);

  /* Sets every byte of a range to `byte`; blocking. Errors as write.
   * [obj] */
  bp_code(BP_CALL *fill)(bp_buffer *buffer, uint64_t offset, uint64_t bytes, uint8_t byte, bp_error *error);

  /* Copies a whole tensor in, from dense memory in the tensor's element type, into the layout that this memory
   * type has for it. The tensor is described by graph and index; its nodes tell the plugin how it will be used.
   * Optional: required only of memory types with BP_MEM_PRIVATE_FMT. `offset` is where the tensor starts.
   * [obj] */
  bp_code(BP_CALL *upload)(bp_buffer *buffer, uint64_t offset, const bp_graph *graph, uint32_t tensor,
                           const void *source, uint64_t bytes, bp_error *error);

  /* The reverse of upload: writes the tensor, dense, to host memory. Optional like upload.
   * [obj] */
  bp_code(BP_CALL *download)(bp_buffer *buffer, uint64_t offset, const bp_graph *graph, uint32_t tensor, void *target,
                             uint64_t bytes, bp_error *error);
} bp_buffer_i;

#ifdef __cplusplus
}
#endif
#endif
