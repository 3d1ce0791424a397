// What the ops that take indices have in common. Thread safety: pure functions.
#pragma once

#include <vector>

#include "kernels/checks.hpp"

namespace backplane_cpu {

inline constexpr const char* kIndexOutside = "an index lies outside its axis";

// i32 or i64.
void check_index_type(const TensorView& indices);
// The output has the plain type of input 0.
void check_moves(const NodeView& node);
// Input 1 has indices into input 0 along one axis, the result, and fits into it along the others.
uint32_t check_element_indices(const NodeView& node);
// Tuples along the last axis of input 1 index input 0's axes from `batch_dims` on. Returns the shape of all blocks that
// they pick: one for each tuple.
std::vector<int64_t> check_tuples(const NodeView& node, int64_t batch_dims);

}  // namespace backplane_cpu
