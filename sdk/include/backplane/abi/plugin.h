/* backplane/abi/plugin.h -- the entry point, the handshake, and the plugin table.
 *
 * The host looks up one symbol, bp_get_proc_address, and asks it for
 *   "bp_negotiate"   required   both sides agree on an ABI version and an op set
 *   "bp_probe"       optional   is the hardware there?
 *   "bp_open.v1"     required   opens the plugin and returns its tables
 * Order: negotiate, then probe, then open. Each may be called again, also after a failure. What stands above
 * bp_open_info is FROZEN for ever: it is used before a version is agreed.
 */
#ifndef BACKPLANE_ABI_PLUGIN_H
#define BACKPLANE_ABI_PLUGIN_H

#include "base.h"
#include "buffer.h"
#include "device.h"
#include "host.h"
#include "program.h"
#include "stream.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BP_BUILD_ASAN 0x1u
#define BP_BUILD_TSAN 0x2u
#define BP_BUILD_MSAN 0x4u
#define BP_BUILD_DEBUG 0x8u

/* (in) What the host can speak. FROZEN. */
typedef struct bp_hello {
  uint32_t size;
  uint32_t kind;    /* BP_KIND_HELLO */
  uint32_t abi_min; /* BP_VERSION(major, minor), inclusive */
  uint32_t abi_max;
  uint32_t opset_min; /* op sets that the host can emit, inclusive */
  uint32_t opset_max;
  uint32_t build;    /* BP_BUILD_* bits */
  uint32_t reserved; /* zero */
  const char *host_name;
} bp_hello;

/* (out) What both will speak. Strings are static in the plugin. FROZEN. */
typedef struct bp_hello_reply {
  uint32_t size;
  uint32_t kind;       /* BP_KIND_HELLO_REPLY */
  uint32_t abi;        /* the version that both will speak */
  uint32_t abi_built;  /* the version of the headers the plugin was compiled with */
  uint32_t opset;      /* the op set that both will speak */
  uint32_t build;      /* BP_BUILD_* bits */
  const char *id;      /* such as "org.backplane.cpu" */
  const char *version; /* the plugin's own version, such as "1.0.0" */
} bp_hello_reply;

/* Agrees on versions: abi = min(host max, own max), if neither side's minimum is above it and the majors are equal.
 * Pure. Errors: BP_E_INCOMPATIBLE with a message that names both ranges; *reply is left alone.
 * Name: "bp_negotiate". [any] */
typedef bp_code(BP_CALL *bp_negotiate_fn)(const bp_hello *hello, bp_hello_reply *reply, bp_error *error);

/* Says whether the plugin can work here: *score > 0, larger is better; 0 = no, with the reason in *error as
 * BP_E_NO_HARDWARE. Leaves no device state behind. Name: "bp_probe", optional. [any] */
typedef bp_code(BP_CALL *bp_probe_fn)(int32_t *score, bp_error *error);

#define BP_OPTION_I64 1u
#define BP_OPTION_F64 2u
#define BP_OPTION_BOOL 3u
#define BP_OPTION_TEXT 4u
#define BP_OPTION_JSON 5u /* anything else, such as a list, as JSON text */

/* One option, from the manifest's defaults and the configuration, merged and type-checked by the host. Nested
 * objects are flattened with dots. Read with a stride (R7). A plugin refuses keys it does not know. */
typedef struct bp_option {
  const char *key;
  uint32_t type;     /* BP_OPTION_* */
  uint32_t reserved; /* zero */
  int64_t i;         /* BP_OPTION_I64, BP_OPTION_BOOL (0 or 1) */
  double f;          /* BP_OPTION_F64 */
  const char *text;  /* BP_OPTION_TEXT, BP_OPTION_JSON; NUL-terminated */
  uint64_t text_len; /* bytes without the NUL */
} bp_option;

/* (in) Everything a plugin gets when it is opened. Borrowed for the call, but for host and host_i. */
typedef struct bp_open_info {
  bp_head head;
  uint32_t abi;            /* as agreed */
  uint32_t opset;          /* as agreed */
  const bp_host_i *host_i; /* lives until close returns */
  bp_host *host;
  const void *options; /* bp_option */
  uint32_t option_count;
  uint32_t option_stride;
  const char *library_dir; /* the absolute folder of the plugin's own library */
} bp_open_info;

/* Functions of an opened plugin. */
typedef struct bp_plugin_i {
  bp_table_head head;

  /* Closes the plugin: joins its threads, frees its devices. No plugin code runs after it returns. The host has
   * destroyed every buffer, stream, event and program before.
   * [obj] */
  void(BP_CALL *close)(bp_plugin *plugin);

  /* Returns the number of devices; 0 is normal.
   * [any] */
  uint32_t(BP_CALL *device_count)(bp_plugin *plugin);

  /* Returns device `index`, or NULL if out of range. Order and pointers are stable until close.
   * [any] */
  bp_device *(BP_CALL *device_at)(bp_plugin *plugin, uint32_t index);

  /* Changes options that can change while the plugin is open. Optional.
   * Errors: BP_E_INVALID_ARG unknown key, type or value; BP_E_STATE only at open. Nothing has changed then.
   * [obj] */
  bp_code(BP_CALL *set_options)(bp_plugin *plugin, const void *options, uint32_t option_count, uint32_t option_stride,
                                bp_error *error);

  /* Returns a table of a plugin extension of at least `min_version`, or NULL. See extension.h. Optional.
   * [any] */
  const void *(BP_CALL *get_extension)(bp_plugin *plugin, const char *name, uint32_t min_version);
} bp_plugin_i;

/* (out) What open returns. The tables are static in the plugin; event_i and program_i may be NULL. */
typedef struct bp_opened {
  bp_head head;
  bp_plugin *plugin;
  const bp_plugin_i *plugin_i;
  const bp_device_i *device_i;
  const bp_buffer_i *buffer_i;
  const bp_stream_i *stream_i;
  const bp_event_i *event_i;
  const bp_program_i *program_i;
} bp_opened;

/* Opens the plugin. Name: "bp_open.v1".
 * Owns:   the caller closes opened->plugin.
 * Errors: BP_E_NO_HARDWARE, BP_E_INVALID_ARG for an option, BP_E_BUSY if it can be open only once. *opened is left
 *         alone, and a later call may succeed.
 * [any] */
typedef bp_code(BP_CALL *bp_open_fn)(const bp_open_info *info, bp_opened *opened, bp_error *error);

/* The one exported symbol. Returns the function of that name; NULL for an unknown, empty or NULL name. Pure. [any] */
typedef bp_proc(BP_CALL *bp_get_proc_address_fn)(const char *name);
#define BP_ENTRY_POINT "bp_get_proc_address"

#ifdef BACKPLANE_BUILDING_PLUGIN
BP_EXPORT bp_proc BP_CALL bp_get_proc_address(const char *name);
#endif

BP_STATIC_ASSERT(sizeof(bp_hello) == 40 && sizeof(bp_hello_reply) == 40, "the handshake is frozen");

#ifdef __cplusplus
}
#endif
#endif
