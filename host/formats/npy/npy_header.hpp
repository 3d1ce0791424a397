// NpyHeader: the text between an .npy file's magic and its data, a Python dictionary literal of three keys.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/types.hpp"

namespace backplane {

struct NpyHeader {
  DType dtype = DType::kF32;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Parses "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }". Keys may come in any order, each once.
// Errors: invalid_argument with the fault: syntax, a missing, repeated or unknown key, an element type that has no
// DType (objects, records, strings, complex numbers), big-endian data, more than 32 axes.
Result<NpyHeader> parse_npy_header(std::string_view text);

// The header of a C-ordered array. REQUIRES: a plain type other than bf16.
std::string npy_header_text(DType dtype, const std::vector<int64_t>& shape);

}  // namespace backplane
