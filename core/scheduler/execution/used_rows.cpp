#include "scheduler/execution/used_rows.hpp"

#include <algorithm>
#include <cstring>

#include "backplane/base/text.hpp"

namespace backplane {

UsedRows::UsedRows(const Graph& graph, TensorId indices, uint64_t rows)
    : graph_(graph),
      indices_(indices),
      bytes_(graph.storage(graph.storage_of(indices)).bytes),
      used_(rows, 0),
      counter_(graph.shape(indices).size(), 0) {
  const HostTensor& constant = graph.constant(graph.storage_of(indices));
  if (!constant.is_null()) std::ranges::copy(constant.bytes(), bytes_.begin());
}

Status UsedRows::find() {
  std::ranges::fill(used_, uint8_t{0});
  std::ranges::fill(counter_, 0);
  const std::span<const int64_t> shape = graph_.shape(indices_), strides = graph_.strides(indices_);
  if (std::ranges::find(shape, 0) != shape.end()) return {};
  const auto rows = static_cast<int64_t>(used_.size());
  const std::byte* at = bytes_.data() + (graph_.is_view(indices_) ? graph_.tensor(indices_).offset : 0);
  for (;;) {
    int64_t index = 0;
    if (graph_.dtype(indices_) == DType::kI32) {
      int32_t narrow = 0;
      std::memcpy(&narrow, at, sizeof narrow);
      index = narrow;
    } else {
      std::memcpy(&index, at, sizeof index);
    }
    if (index < -rows || index >= rows)
      return out_of_range(cat("index ", index, " in ", graph_.tensor_text(indices_), " is outside the ", rows, " rows"),
                          "run.row-index");
    used_[static_cast<size_t>(index < 0 ? index + rows : index)] = 1;
    size_t axis = shape.size();
    for (;;) {
      if (axis-- == 0) return {};
      at += strides[axis];
      if (++counter_[axis] < shape[axis]) break;
      at -= strides[axis] * shape[axis];
      counter_[axis] = 0;
    }
  }
}

}  // namespace backplane
