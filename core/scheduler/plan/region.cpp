#include "scheduler/plan/region.hpp"

#include <algorithm>
#include <vector>

#include "backplane/graph/types.hpp"

namespace backplane {
namespace {

struct Axis {
  uint64_t count, stride;
};

// The axes that move through memory, innermost first.
std::vector<Axis> moving_axes(const Graph& graph, TensorId tensor) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < graph.shape(tensor).size(); ++i) {
    const auto count = static_cast<uint64_t>(graph.shape(tensor)[i]);
    const auto stride = static_cast<uint64_t>(graph.strides(tensor)[i]);
    if (count > 1 && stride != 0) axes.push_back({count, stride});
  }
  std::ranges::sort(axes, {}, &Axis::stride);
  return axes;
}

}  // namespace

Region region_of(const Graph& graph, TensorId tensor) {
  const bp_tensor& record = graph.tensor(tensor);
  if (record.view_of == kNone || !is_plain(graph.dtype(tensor))) {
    // A root, or a view of blocks, whose axes count elements: from its first byte to the end of the storage.
    const uint64_t offset = record.view_of == kNone ? 0 : record.offset;
    const uint64_t bytes = graph.storage(graph.storage_of(tensor)).bytes - offset;
    return {offset, bytes, 1, bytes};
  }
  if (std::ranges::find(graph.shape(tensor), 0) != graph.shape(tensor).end()) return {record.offset, 0, 1, 0};
  uint64_t row = type_layout(graph.dtype(tensor)).block_bytes;
  const std::vector<Axis> axes = moving_axes(graph, tensor);
  size_t axis = 0;
  while (axis < axes.size() && axes[axis].stride <= row) {
    row = (axes[axis].count - 1) * axes[axis].stride + row;  // contiguous, or overlapping as windows do
    ++axis;
  }
  uint64_t extent = row;
  for (size_t i = axis; i < axes.size(); ++i) extent += (axes[i].count - 1) * axes[i].stride;
  const Region flat{record.offset, extent, 1, extent};
  if (axis == axes.size()) return flat;
  uint64_t rows = axes[axis].count;
  const uint64_t pitch = axes[axis].stride;
  while (++axis < axes.size() && axes[axis].stride == rows * pitch) rows *= axes[axis].count;
  const Region strided{record.offset, row, rows, pitch};
  return axis == axes.size() && strided.payload() < extent / 2 ? strided : flat;
}

Region united(const Region& a, const Region& b) {
  if (a == b || b.extent() == 0) return a;
  if (a.extent() == 0) return b;
  const uint64_t begin = std::min(a.offset, b.offset);
  const uint64_t bytes = std::max(a.offset + a.extent(), b.offset + b.extent()) - begin;
  const uint64_t row = std::max(a.offset + a.row_bytes, b.offset + b.row_bytes) - begin;
  const Region strided{begin, row, a.rows, a.pitch_bytes};
  if (a.rows > 1 && a.rows == b.rows && a.pitch_bytes == b.pitch_bytes && strided.payload() < bytes / 2) return strided;
  return {begin, bytes, 1, bytes};
}

bool worth_uniting(const Region& a, const Region& b) {
  return united(a, b).payload() <= a.payload() + b.payload() + kCopyBytes;
}

}  // namespace backplane
