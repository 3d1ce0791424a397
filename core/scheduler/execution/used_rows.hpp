// UsedRows: which rows of a weight a tensor of indices names in this run.
//
// Negative indices count from the end, as in op gather. Thread safety: none; one for each copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/graph.hpp"

namespace backplane {

class UsedRows {
 public:
  // Room for the indices, so that reading them allocates nothing.
  UsedRows(const Graph& graph, TensorId indices, uint64_t rows);

  // Where the bytes of the indices' storage are to be put before `find`.
  std::span<std::byte> index_bytes() { return bytes_; }
  // Errors: out_of_range naming the index and its place.
  Status find();
  // Calls visit(first row, count) for each run of used rows, until one fails.
  template <class Visit>
  Status for_each_run(const Visit& visit) const {
    for (uint64_t row = 0; row < used_.size();) {
      uint64_t end = row;
      while (end < used_.size() && used_[end] != 0) ++end;
      if (end != row) BP_TRY(visit(row, end - row));
      row = end + 1;
    }
    return {};
  }

 private:
  const Graph& graph_;
  TensorId indices_;
  std::vector<std::byte> bytes_;
  std::vector<uint8_t> used_;     // by row
  std::vector<int64_t> counter_;  // by axis of the indices
};

}  // namespace backplane
