/* plugin.c -- a plugin that ends the process as soon as it is loaded: whoever reads its manifest runs none of it. */
#include "backplane/abi/plugin.h"

bp_proc BP_CALL bp_get_proc_address(const char* name) {
  (void)name;
  return 0;
}

__attribute__((constructor)) static void trap(void) { __builtin_trap(); }
