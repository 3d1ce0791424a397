// Elements of a HostTensor from numbers, whatever its type.
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "backplane/base/json.hpp"
#include "backplane/base/status.hpp"
#include "backplane/graph/host_tensor.hpp"

namespace backplane::cli {

// Stores a JSON number or boolean. Errors: invalid_argument for what the type cannot hold: a fraction in an integer,
// a number out of range. REQUIRES: a plain type, index in range.
Status set_element(HostTensor& tensor, int64_t index, const Json& value);

}  // namespace backplane::cli
