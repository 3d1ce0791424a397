/* backplane/abi/abi.h -- the whole plugin ABI. Start reading at plugin.h. */
#ifndef BACKPLANE_ABI_ABI_H
#define BACKPLANE_ABI_ABI_H

#include "base.h"
#include "buffer.h"
#include "device.h"
#include "extension.h"
#include "graph.h"
#include "host.h"
#include "plugin.h"
#include "program.h"
#include "stream.h"

#endif
