// Region: the bytes of a storage that a tensor covers, as rows with a pitch. Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "backplane/graph/graph.hpp"

namespace backplane {

struct Region {
  uint64_t offset = 0;       // of the first row
  uint64_t row_bytes = 0;    // 0 = nothing
  uint64_t rows = 1;         // 1 = flat
  uint64_t pitch_bytes = 0;  // from row to row

  uint64_t extent() const { return row_bytes == 0 ? 0 : (rows - 1) * pitch_bytes + row_bytes; }
  uint64_t payload() const { return row_bytes * rows; }
  bool operator==(const Region&) const = default;
};

// What a tensor covers of its storage: rows where they are less than half of the extent and one pitch describes them,
// else the whole extent.
Region region_of(const Graph& graph, TensorId tensor);
// The region around two: rows where both are the same rows and less than half of the extent is left, else flat.
Region united(const Region& a, const Region& b);
// Whether the region around both takes less than each for itself, if one copy costs as much as kCopyBytes.
inline constexpr uint64_t kCopyBytes = 64 * 1024;
bool worth_uniting(const Region& a, const Region& b);

}  // namespace backplane
