/* fake_extension.h -- the device extension "bp.x.fake": what a fake device has done, and faults set while it runs.
 *
 * For tests of one build: the structs do not grow.
 */
#ifndef BACKPLANE_TESTS_FAKE_EXTENSION_H
#define BACKPLANE_TESTS_FAKE_EXTENSION_H

#include "backplane/abi/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BP_EXT_FAKE "bp.x.fake"

/* Kinds of calls. A call of any kind also counts as BP_FAKE_ANY. */
#define BP_FAKE_SUBMIT 0u
#define BP_FAKE_COPY 1u     /* copy and fill of a stream */
#define BP_FAKE_ALLOCATE 2u /* buffer_create, imports too */
#define BP_FAKE_COMPILE 3u  /* program_create and update */
#define BP_FAKE_STREAM 4u   /* stream_create */
#define BP_FAKE_EVENT 5u    /* event_create, record, wait */
#define BP_FAKE_WRITE 6u    /* write and fill of a buffer */
#define BP_FAKE_READ 7u
#define BP_FAKE_MAP 8u
#define BP_FAKE_SYNCHRONIZE 9u
#define BP_FAKE_ANY 10u
#define BP_FAKE_CALL_KINDS 11u

/* (out) Figures of one device. The counts are since the last reset, the `live_` ones are of now. */
typedef struct bp_fake_counters {
  uint64_t calls[BP_FAKE_CALL_KINDS]; /* by BP_FAKE_*; failed calls too */
  uint64_t nodes;                     /* run to their end */
  uint64_t copied_bytes;              /* by copies that were done */
  uint64_t written_bytes;             /* by the host */
  uint64_t read_bytes;                /* by the host */
  uint64_t queries;                   /* calls of query_nodes, counted by their first node */
  uint64_t queried_nodes;
  uint64_t live_buffers;
  uint64_t live_bytes; /* allocated, without imports */
  uint64_t live_streams;
  uint64_t live_events;
  uint64_t live_programs;
} bp_fake_counters;

typedef struct bp_ext_fake {
  bp_table_head head;
  /* Fills in the figures. [any] */
  void(BP_CALL* counters)(bp_device* device, bp_fake_counters* counters);
  /* Sets all but the live figures to zero. [any] */
  void(BP_CALL* reset)(bp_device* device);
  /* Makes the `ahead`-th call of a kind from now, from 1, return `code`; BP_E_DEVICE_LOST loses the device. 0 takes
   * all faults back, those of the options too. [any] */
  void(BP_CALL* set_fault)(bp_device* device, uint32_t kind, uint64_t ahead, bp_code code);
  /* Returns how often work that touched the same bytes, and did not only read them, ran at the same time on any
   * devices of this plugin, and copies the text of the first such conflict, cut to fit. 0 without the option
   * "detect_conflicts". [any] */
  uint64_t(BP_CALL* conflicts)(bp_device* device, char* text, uint64_t text_cap);
} bp_ext_fake;

#ifdef __cplusplus
}
#endif
#endif
