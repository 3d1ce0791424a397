/* backplane/abi/base.h -- codes, errors, struct heads, handles: what every other ABI header builds on.
 *
 * The Backplane plugin ABI is C11 and 64-bit. A plugin exports one symbol, bp_get_proc_address (plugin.h),
 * links to nothing of the host's, and is driven through tables of functions over opaque handles.
 *
 * Growth rules (tools/check_abi.py and tests/abi enforce them)
 *   R1  `size` and `kind` come first in every struct and table.
 *   R2  There is no implicit padding; reserved fields must be zero, and that is checked.
 *   R3  Append only: nothing is reordered, reused, or given a new meaning.
 *   R4  Input structs: accept any size from the 1.0 prefix up; copy min(size, mine) into a zeroed local.
 *   R5  Output structs: write at most min(size, mine) bytes and never the head.
 *   R6  A table slot is used only if the table's `size` reaches it and it is not NULL.
 *   R7  Arrays of growable structs carry a stride.
 *   R8  No growable struct is a member, by value, of another.
 *   R9  `next` chains: skip unknown kinds; refuse kinds with BP_KIND_MUST_UNDERSTAND.
 *   R10 No C enum is a field: values are uint32_t plus named constants, with a rule for unknown ones.
 *   R11 Fixed-width scalars and pointers only.
 *   R12 A release freezes its layout: sdk/abi/1.0.layout is never edited again.
 *   R13 Experimental names start with "bp.x." and promise nothing.
 * The version governs semantics, `size` governs layout, non-NULL governs ability: never infer one from another.
 *
 * Thread tags, one on every function
 *   [any]  any thread, concurrently with everything else
 *   [obj]  the caller serialises calls on the same object; the object may move between threads
 *   [cb]   called from an unspecified thread of the plugin or the host; must not block, must hold no lock
 *
 * Default lifetimes: an argument is borrowed for the call; a returned pointer lives as long as the object it
 * was asked of. Strings are UTF-8, NUL-terminated unless a length stands beside them.
 *
 * No function aborts, exits, throws, prints, or changes signals, locale, floating-point mode, environment or
 * working directory.
 */
#ifndef BACKPLANE_ABI_BASE_H
#define BACKPLANE_ABI_BASE_H

#include <stddef.h>
#include <stdint.h>

#if UINTPTR_MAX != 0xFFFFFFFFFFFFFFFFu
#error "ABI 1 is for 64-bit targets only (R11)"
#endif

#define BP_VERSION(major, minor) (((uint32_t)(major) << 16) | (uint32_t)(minor))
#define BP_VERSION_MAJOR(version) ((uint32_t)(version) >> 16)
#define BP_VERSION_MINOR(version) ((uint32_t)(version)&0xFFFFu)
#define BP_ABI_VERSION BP_VERSION(1, 0) /* the version that these headers describe */
#define BP_OPSET_VERSION 1u             /* the newest op set that ops.def describes */

#if defined(_WIN32)
#define BP_CALL __cdecl
#define BP_EXPORT __declspec(dllexport)
#else
#define BP_CALL
#define BP_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
#define BP_STATIC_ASSERT static_assert
extern "C" {
#else
#define BP_STATIC_ASSERT _Static_assert
#endif

#define BP_NONE 0xFFFFFFFFu                     /* "no index", "no offset", "unknown" in uint32_t fields */
#define BP_TIMEOUT_INFINITE 0xFFFFFFFFFFFFFFFFu /* in every timeout_ns parameter */
#define BP_NAMED_BASE 0x80000000u               /* ids from here on are names interned with bp_host_i.intern */

/* ---- codes: codes.def; 0 is success, positive is information, negative is an error. A receiver treats an
 * unknown positive value as BP_OK and an unknown negative value as BP_E_UNKNOWN. */
typedef int32_t bp_code;
enum {
#define BP_CODE(name, value, meaning) BP_##name = value,
#include "codes.def"
#undef BP_CODE
};

/* Caller-owned record of one error. FROZEN: it is used before a version is agreed.
 * The caller zeroes it, sets `size`, and may offer text storage; the callee fills the rest when it returns an
 * error and leaves it alone otherwise. A NULL bp_error* is legal everywhere. Nothing is ever freed. */
typedef struct bp_error {
  uint32_t size;        /* (in)  sizeof(bp_error) as the caller compiled it */
  bp_code code;         /* (out) equal to the returned value */
  int64_t native_code;  /* (out) the driver's own number; 0 = none */
  uint32_t flags;       /* (out) BP_ERROR_*; unknown bits are ignored */
  uint32_t message_cap; /* (in)  bytes at `message`, the NUL included */
  uint32_t message_len; /* (out) bytes the whole text has, without NUL; may exceed message_cap */
  uint32_t reserved;    /* zero */
  char *message;        /* (in)  caller's storage, may be NULL; the callee writes UTF-8 and a NUL */
} bp_error;
#define BP_ERROR_RETRYABLE 0x1u /* the same call may succeed later */
#define BP_ERROR_STICKY 0x2u    /* the object stays failed until it is destroyed */

/* First member of every descriptor and information struct. FROZEN. */
typedef struct bp_head {
  uint32_t size;              /* sizeof the whole struct as its owner compiled it */
  uint32_t kind;              /* BP_KIND_*: catches wrong and uninitialised structs */
  const struct bp_head *next; /* optional further structs, or NULL */
} bp_head;

/* First member of every function table. FROZEN. */
typedef struct bp_table_head {
  uint32_t size; /* sizeof the table as its provider compiled it */
  uint32_t kind; /* BP_KIND_TABLE_* */
} bp_table_head;

#define BP_KIND_MUST_UNDERSTAND 0x80000000u
enum {
  BP_KIND_HELLO = 1,
  BP_KIND_HELLO_REPLY = 2,
  BP_KIND_OPEN_INFO = 3,
  BP_KIND_OPENED = 4,
  BP_KIND_DEVICE_INFO = 5,
  BP_KIND_MEMTYPE_INFO = 6,
  BP_KIND_MEMORY_STATS = 7,
  BP_KIND_FOREIGN_MEMORY = 8,
  BP_KIND_BUFFER_DESC = 9,
  BP_KIND_STREAM_DESC = 10,
  BP_KIND_EVENT_DESC = 11,
  BP_KIND_PROGRAM_DESC = 12,
  BP_KIND_COPY_DESC = 13,
  BP_KIND_SUBMIT_DESC = 14,
  BP_KIND_GRAPH = 15,
  BP_KIND_NODE_QUERY = 16,
  BP_KIND_TABLE_HOST = 101,
  BP_KIND_TABLE_PLUGIN = 102,
  BP_KIND_TABLE_DEVICE = 103,
  BP_KIND_TABLE_BUFFER = 104,
  BP_KIND_TABLE_STREAM = 105,
  BP_KIND_TABLE_EVENT = 106,
  BP_KIND_TABLE_PROGRAM = 107,
  BP_KIND_TABLE_EXTENSION = 108
};

/* Whether the struct or table at `p`, of type T, as its owner compiled it, has field f (R4, R6). */
#define BP_REACHES(p, T, f) ((p)->head.size >= offsetof(T, f) + sizeof(((T *)0)->f))
#define BP_HAS_FN(p, T, f) (BP_REACHES(p, T, f) && (p)->f != NULL)

/* ---- opaque handles. A handle is only ever passed to functions of the table that came with it. */
typedef struct bp_host bp_host;       /* the host's context, given to the plugin; lives until close returns */
typedef struct bp_plugin bp_plugin;   /* one opened plugin */
typedef struct bp_device bp_device;   /* lives as long as its plugin is open */
typedef struct bp_buffer bp_buffer;   /* a block of memory of one memory type of one device */
typedef struct bp_stream bp_stream;   /* an in-order queue of work on one device */
typedef struct bp_event bp_event;     /* a point in a stream */
typedef struct bp_program bp_program; /* a compiled graph */
typedef uint64_t bp_run_id;           /* the host's name for one run; 0 = none. Keys cancellation and profiles */

typedef void(BP_CALL *bp_proc)(void); /* a function of a type known to both sides by its name */

/* Releases memory that was lent. Called exactly once. [cb] */
typedef void(BP_CALL *bp_release_fn)(void *user, void *memory);

BP_STATIC_ASSERT(sizeof(bp_error) == 40, "bp_error is frozen");
BP_STATIC_ASSERT(sizeof(bp_head) == 16 && sizeof(bp_table_head) == 8, "the heads are frozen");

#ifdef __cplusplus
}
#endif
#endif
