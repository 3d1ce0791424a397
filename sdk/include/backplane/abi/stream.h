/* backplane/abi/stream.h -- an in-order queue of work on one device, and events that mark points in it.
 *
 * Work on one stream runs in the order it was given. An asynchronous failure marks the stream failed: later work
 * is skipped, events recorded later carry the error, and `synchronize` reports it once and clears it (unless the
 * error is sticky). A call that returns an error has queued nothing.
 */
#ifndef BACKPLANE_ABI_STREAM_H
#define BACKPLANE_ABI_STREAM_H

#include "base.h"
#include "graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* (in) A copy of `rows` rows of `row_bytes` bytes. Each side is a buffer of this plugin or host memory, not both. */
typedef struct bp_copy_desc {
  bp_head head;
  bp_buffer *source;
  bp_buffer *target;
  const void *source_host; /* stays valid and unchanged until the copy is done */
  void *target_host;
  uint64_t source_offset;
  uint64_t target_offset;
  uint64_t row_bytes;
  uint64_t rows;               /* 1 for a flat copy */
  uint64_t source_pitch_bytes; /* from one row to the next; ignored if rows is 1 */
  uint64_t target_pitch_bytes;
} bp_copy_desc;

/* Where one tensor of a program's graph lives in this submission. FROZEN: passed as a plain array. */
typedef struct bp_binding {
  uint32_t tensor;
  uint32_t reserved; /* zero */
  bp_buffer *buffer;
  uint64_t offset; /* bytes from the buffer's base */
} bp_binding;

/* (in) One piece of work: a bound graph, or a program with bindings for every tensor that is not a view. */
typedef struct bp_submit_desc {
  bp_head head;
  const bp_graph *graph; /* borrowed for the call; NULL if program is given */
  bp_program *program;
  const bp_binding *bindings; /* borrowed for the call */
  uint32_t binding_count;
  uint32_t reserved; /* zero */
  bp_run_id run;
} bp_submit_desc;

typedef struct bp_stream_i {
  bp_table_head head;

  /* Waits for queued work, then frees the stream. NULL is ignored.
   * [obj] */
  void(BP_CALL *destroy)(bp_stream *stream);

  /* Queues a graph or a program. May return before it has run (BP_CAP_ASYNC).
   * The nodes run as if one after another in the graph's order: tensors that are not alive together may share memory,
   * and nothing but the outputs may be written.
   * Errors: BP_E_UNSUPPORTED the host tries another device; BP_E_DATA, BP_E_CANCELLED, BP_E_DEVICE_MEMORY.
   * [obj] */
  bp_code(BP_CALL *submit)(bp_stream *stream, const bp_submit_desc *desc, bp_error *error);

  /* Queues a copy. Ranges that overlap are BP_E_INVALID_ARG.
   * Errors: BP_E_UNSUPPORTED the host stages through its own memory.
   * [obj] */
  bp_code(BP_CALL *copy)(bp_stream *stream, const bp_copy_desc *desc, bp_error *error);

  /* Queues the setting of a range of a buffer to one byte value.
   * [obj] */
  bp_code(BP_CALL *fill)(bp_stream *stream, bp_buffer *buffer, uint64_t offset, uint64_t bytes, uint8_t byte,
                         bp_error *error);

  /* Makes `event` stand for all work queued so far. Recording again replaces the earlier point.
   * Optional: with BP_CAP_EVENTS.
   * [obj] */
  bp_code(BP_CALL *record)(bp_stream *stream, bp_event *event, bp_error *error);

  /* Makes later work wait for an event of the same plugin that was recorded before this call.
   * Errors: BP_E_STATE never recorded. Optional: with BP_CAP_EVENTS.
   * [obj] */
  bp_code(BP_CALL *wait)(bp_stream *stream, bp_event *event, bp_error *error);

  /* Waits until all queued work is done, and returns the first error since the last call.
   * Errors: BP_E_TIMEOUT the work goes on.
   * [obj] */
  bp_code(BP_CALL *synchronize)(bp_stream *stream, uint64_t timeout_ns, bp_error *error);

  /* Asks queued work of a run to stop early with BP_E_CANCELLED. Optional: with BP_CAP_CANCEL.
   * [any] */
  bp_code(BP_CALL *cancel)(bp_stream *stream, bp_run_id run, bp_error *error);
} bp_stream_i;

/* Called exactly once when an event completes; `status` is BP_OK or the error of the work before it. [cb] */
typedef void(BP_CALL *bp_event_fn)(void *user, const bp_error *status);

typedef struct bp_event_i {
  bp_table_head head;

  /* Frees the event. Waits and subscriptions already made still complete. NULL is ignored.
   * [any] */
  void(BP_CALL *destroy)(bp_event *event);

  /* Returns BP_OK, BP_NOT_READY, or the error of the work before the event. BP_E_STATE: never recorded.
   * [any] */
  bp_code(BP_CALL *query)(bp_event *event, bp_error *error);

  /* Waits for the event. Returns as query does, or BP_E_TIMEOUT.
   * [any] */
  bp_code(BP_CALL *wait_host)(bp_event *event, uint64_t timeout_ns, bp_error *error);

  /* Calls fn once when the event completes, at once if it already has. Optional.
   * Errors: BP_E_STATE never recorded; fn is then not called.
   * [any] */
  bp_code(BP_CALL *subscribe)(bp_event *event, bp_event_fn fn, void *user, bp_error *error);
} bp_event_i;

BP_STATIC_ASSERT(sizeof(bp_binding) == 24, "bp_binding is an array element and frozen");

#ifdef __cplusplus
}
#endif
#endif
