/* backplane/abi/extension.h -- tables of the well-known extensions.
 *
 * get_extension(object, name, min_version) returns a table that starts with a bp_table_head of kind
 * BP_KIND_TABLE_EXTENSION and grows by the rules of base.h, or NULL. Vendors use names of their own,
 * "vendor.name", without asking anybody.
 */
#ifndef BACKPLANE_ABI_EXTENSION_H
#define BACKPLANE_ABI_EXTENSION_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Device extension: how many threads of the host's pool the device uses. */
#define BP_EXT_CPU_THREADS "bp.cpu.threads"
typedef struct bp_ext_cpu_threads {
  bp_table_head head;
  /* Returns the number of threads in use. [any] */
  uint32_t(BP_CALL *get)(bp_device *device);
  /* Sets it for later submissions; 0 = as many as the pool has. More than the pool has is clamped. [any] */
  bp_code(BP_CALL *set)(bp_device *device, uint32_t thread_count, bp_error *error);
} bp_ext_cpu_threads;

/* Device extension: memory types by name, such as "packed". */
#define BP_EXT_MEMTYPES "bp.memtypes"
typedef struct bp_ext_memtypes {
  bp_table_head head;
  /* Returns the index of the memory type of that name, or BP_NONE. [any] */
  uint32_t(BP_CALL *find)(bp_device *device, const char *name);
} bp_ext_memtypes;

/* Device extension: facts about the device as text, such as "avx2" = "1". */
#define BP_EXT_FEATURES "bp.features"
typedef struct bp_feature {
  const char *name;  /* the plugin's */
  const char *value; /* the plugin's */
} bp_feature;        /* FROZEN: passed as a plain array */
typedef struct bp_ext_features {
  bp_table_head head;
  /* Gives all features; the array lives until close. [any] */
  bp_code(BP_CALL *list)(bp_device *device, const bp_feature **features, uint32_t *feature_count, bp_error *error);
} bp_ext_features;

/* Plugin extension: cancels a run on all streams of the plugin. */
#define BP_EXT_CANCEL "bp.cancel"
typedef struct bp_ext_cancel {
  bp_table_head head;
  /* Asks all work of the run to stop early with BP_E_CANCELLED. [any] */
  bp_code(BP_CALL *cancel)(bp_plugin *plugin, bp_run_id run, bp_error *error);
} bp_ext_cancel;

/* Device extension: times of nodes. */
#define BP_EXT_PROFILER "bp.profiler"
typedef struct bp_profile_record {
  uint64_t tag;      /* bp_node.tag; 0 = the whole submission */
  bp_run_id run;     /* of the submission */
  uint64_t begin_ns; /* on the clock that `now` reads */
  uint64_t end_ns;
} bp_profile_record; /* FROZEN: passed as a plain array */
typedef struct bp_ext_profiler {
  bp_table_head head;
  /* Starts or stops recording for later submissions. [any] */
  bp_code(BP_CALL *enable)(bp_device *device, uint32_t on, bp_error *error);
  /* Reads the device's clock in nanoseconds, so that the host can map it to its own. [any] */
  bp_code(BP_CALL *now)(bp_device *device, uint64_t *now_ns, bp_error *error);
  /* Moves up to *record_count records out, oldest first. *record_count becomes the number moved, *dropped the
   * number lost since the last call because nobody fetched them. [obj] */
  bp_code(BP_CALL *fetch)(bp_device *device, bp_profile_record *records, uint32_t *record_count, uint64_t *dropped,
                          bp_error *error);
} bp_ext_profiler;

#ifdef __cplusplus
}
#endif
#endif
