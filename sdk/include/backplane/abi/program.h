/* backplane/abi/program.h -- a compiled graph. Keeps nothing of the graph it was made from. */
#ifndef BACKPLANE_ABI_PROGRAM_H
#define BACKPLANE_ABI_PROGRAM_H

#include "base.h"
#include "graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bp_program_i {
  bp_table_head head;

  /* Frees the program. No submission of it may be pending. NULL is ignored.
   * [any] */
  void(BP_CALL *destroy)(bp_program *program);

  /* Adapts the program to a graph of the same topology with other shapes. Optional.
   * Errors: BP_E_UNSUPPORTED make a new program; this one still works as before.
   * [obj] */
  bp_code(BP_CALL *update)(bp_program *program, const bp_graph *graph, bp_error *error);

  /* Writes an image for bp_program_desc.image. Optional. Call with target NULL to learn the size.
   * Units:  *bytes is in: room at target, out: size of the image.
   * Errors: BP_E_INVALID_ARG too little room; target is left alone.
   * [any] */
  bp_code(BP_CALL *serialize)(bp_program *program, void *target, uint64_t *bytes, bp_error *error);
} bp_program_i;

#ifdef __cplusplus
}
#endif
#endif
