// The shape rule of ops with multidirectional broadcasting. Thread safety: pure functions.
#pragma once

#include <vector>

#include "kernels/checks.hpp"

namespace backplane_cpu {

// Throws a refusal unless output 0 has exactly the shape that the present inputs broadcast to.
inline void check_broadcast(const NodeView& node) {
  std::vector<int64_t> wanted;
  for (uint32_t i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i)) continue;
    const std::span<const int64_t> shape = node.input(i).shape();
    if (shape.size() > wanted.size()) wanted.insert(wanted.begin(), shape.size() - wanted.size(), 1);
    const size_t added = wanted.size() - shape.size();
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      int64_t& extent = wanted[axis + added];
      if (shape[axis] != extent && shape[axis] != 1 && extent != 1) refuse("the shapes do not broadcast");
      if (extent == 1) extent = shape[axis];
    }
  }
  check_shape(node.output(0), wanted);
}

}  // namespace backplane_cpu
