/* backplane/abi/host.h -- the services that the host gives to a plugin.
 *
 * The table and the bp_host* come in bp_open_info and live until bp_plugin_i.close returns.
 */
#ifndef BACKPLANE_ABI_HOST_H
#define BACKPLANE_ABI_HOST_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One task of a parallel region: `task` in [0, task_count), `arg` as given. Must not throw. [any] */
typedef void(BP_CALL *bp_task_fn)(void *arg, uint32_t task);

#define BP_LOG_TRACE 0
#define BP_LOG_DEBUG 1
#define BP_LOG_INFO 2
#define BP_LOG_WARN 3
#define BP_LOG_ERROR 4

#define BP_NAMESPACE_OP 1u
#define BP_NAMESPACE_ATTR 2u
#define BP_NAMESPACE_TYPE 3u

#define BP_PARALLEL_GANG 0x1u /* all tasks run at the same time, so they may wait for each other at barriers */

#define BP_DEVICE_EVENT_LOST 1u            /* the device is gone; `status` says why */
#define BP_DEVICE_EVENT_BACK 2u            /* it works again */
#define BP_DEVICE_EVENT_MEMORY_PRESSURE 3u /* memory is short; the host may drop caches */

typedef struct bp_host_i {
  bp_table_head head;

  /* Writes one line of text, without newline, to the host's log under the plugin's id.
   * Units:  `text_bytes` bytes of UTF-8; `level` is BP_LOG_*, unknown levels count as BP_LOG_INFO.
   * [any] */
  void(BP_CALL *log)(bp_host *host, int32_t level, const char *text, uint64_t text_bytes);

  /* Returns the id, at least BP_NAMED_BASE, of a name such as "vendor.op" in BP_NAMESPACE_*; the same name gives
   * the same id until the plugin is closed. Ids differ between hosts and processes: never store them.
   * Errors: BP_NONE for a NULL or empty name, an unknown name space, or when memory is gone.
   * [any] */
  uint32_t(BP_CALL *intern)(bp_host *host, const char *name, uint32_t name_space);

  /* Returns how many tasks the host's pool can run at the same time, the calling thread included; at least 1.
   * [any] */
  uint32_t(BP_CALL *worker_count)(bp_host *host);

  /* Runs fn(arg, 0) ... fn(arg, task_count - 1) on the host's pool and the calling thread, and returns when all
   * have returned. Without BP_PARALLEL_GANG the tasks may run in any order, on any number of threads; a call from
   * inside a task runs inline. With it they run at the same time; a gang waits for the pool to be free.
   * Errors: BP_E_INVALID_ARG unknown flag, fn NULL, or a gang of more tasks than worker_count;
   *         BP_E_STATE a gang of more than one task from inside a task. No task has run then.
   * [any] */
  bp_code(BP_CALL *parallel_for)(bp_host *host, uint32_t task_count, uint32_t flags, bp_task_fn fn, void *arg);

  /* Returns 1 if the run was cancelled, else 0. Cheap: poll it between nodes and within long ones.
   * [any] */
  uint32_t(BP_CALL *cancelled)(bp_host *host, bp_run_id run);

  /* Tells the host something about a device: BP_DEVICE_EVENT_*; `status` may be NULL.
   * [any] Never after close returned. */
  void(BP_CALL *device_event)(bp_host *host, bp_device *device, uint32_t what, const bp_error *status);

  /* Returns a table of a host extension of at least `min_version`, or NULL. Starts with a bp_table_head.
   * [any] */
  const void *(BP_CALL *get_extension)(bp_host *host, const char *name, uint32_t min_version);
} bp_host_i;

#ifdef __cplusplus
}
#endif
#endif
