// The table of the extension "bp.x.fake". Thread safety: any thread.
#pragma once

#include <cstdint>

#include "fake_extension.h"

namespace fake {

// Returns the table, or null for a version that there is not.
const bp_ext_fake* fake_table(uint32_t min_version);

}  // namespace fake
