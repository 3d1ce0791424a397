// Elements of a HostTensor as numbers, whatever its type.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "backplane/base/json.hpp"
#include "backplane/base/status.hpp"
#include "backplane/graph/host_tensor.hpp"

namespace backplane::cli {

// Exact for every plain type: a long double holds all 64-bit integers. REQUIRES: a plain type, index in range.
long double element(const HostTensor& tensor, int64_t index);

// Stores a JSON number or boolean. Errors: invalid_argument for what the type cannot hold: a fraction in an integer,
// a number out of range. REQUIRES: a plain type, index in range.
Status set_element(HostTensor& tensor, int64_t index, const Json& value);

// "[0, 2, 17]": the position of an element in a dense tensor.
std::string index_text(const HostTensor& tensor, int64_t index);

}  // namespace backplane::cli
