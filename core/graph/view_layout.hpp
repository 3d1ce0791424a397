// The arithmetic of views: shapes and byte strides. Thread safety: pure functions.
//
// Strides are kept in a canonical form, in which a dense tensor has exactly its dense_strides: an axis of extent 1 has
// the stride that a dense tensor would have there, and a tensor of zero size is dense.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backplane/graph/types.hpp"

namespace backplane {

void make_canonical(DType dtype, std::span<const int64_t> shape, std::vector<int64_t>& strides);
bool is_dense(DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides);
// Bytes from the first element's start to the last element's end.
uint64_t touched_bytes(DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides);
// Strides that show the same elements, in the same order, under another shape of as many elements; nullopt where only
// a copy can. REQUIRES: both shapes are legal for the type and have the same number of elements.
std::optional<std::vector<int64_t>> reshape_strides(DType dtype, std::span<const int64_t> shape,
                                                    std::span<const int64_t> strides,
                                                    std::span<const int64_t> new_shape);
// Copies a strided tensor to dense memory.
void gather_dense(DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides, const std::byte* from,
                  std::byte* to);
// The reverse: copies dense memory into a strided tensor. What lies between its elements is not touched.
void scatter_dense(DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides, const std::byte* from,
                   std::byte* to);

}  // namespace backplane
