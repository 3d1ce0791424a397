// Elements of a HostTensor as numbers, whatever its type. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "backplane/graph/host_tensor.hpp"

namespace backplane {

// Exact for every plain type: a long double holds all 64-bit integers. REQUIRES: a plain type, index in range.
long double element(const HostTensor& tensor, int64_t index);

// "[0, 2, 17]": the position of an element in a dense tensor.
std::string index_text(const HostTensor& tensor, int64_t index);

}  // namespace backplane
