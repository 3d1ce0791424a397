// NestedList: lists within lists, as JSON writes the elements of a tensor. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "backplane/base/json.hpp"
#include "backplane/base/status.hpp"

namespace backplane::cli {

struct NestedList {
  std::vector<int64_t> shape;      // empty: a plain value
  std::vector<const Json*> items;  // in order; they live in the JSON
};

// Errors: invalid_argument for lists of one depth that are of different lengths.
Result<NestedList> flatten_list(const Json& value);

}  // namespace backplane::cli
