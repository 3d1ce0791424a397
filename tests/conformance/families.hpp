// The ops under test, and how a random node of each is made. Thread safety: pure functions.
#pragma once

#include <span>
#include <vector>

#include "node_case.hpp"

namespace backplane::testing {

struct OpUnderTest {
  Op op;
  DType natural;            // a device must run the op in this type of input 0, and not slowly
  void (*make)(NodeCase&);  // adds operands, attributes and tolerance
};

std::span<const OpUnderTest> movement_ops();
std::span<const OpUnderTest> index_ops();
std::span<const OpUnderTest> unary_ops();
std::span<const OpUnderTest> binary_ops();
std::span<const OpUnderTest> reduction_ops();
std::span<const OpUnderTest> linear_ops();
std::span<const OpUnderTest> window_ops();
std::span<const OpUnderTest> norm_ops();
std::span<const OpUnderTest> recurrent_ops();
std::span<const OpUnderTest> attention_ops();
std::span<const OpUnderTest> quantize_ops();

// Type sets; the first is the natural type.
inline constexpr DType kBlockTypes[] = {DType::kQ8_0, DType::kQ4_0, DType::kQ4_K, DType::kQ6_K};
inline constexpr DType kFloats[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};
inline constexpr DType kInts[] = {DType::kI64, DType::kI32, DType::kI16, DType::kI8,
                                  DType::kU64, DType::kU32, DType::kU16, DType::kU8};
inline constexpr DType kNums[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI64, DType::kI32,
                                  DType::kI16, DType::kI8,  DType::kU64, DType::kU32,  DType::kU16, DType::kU8};
inline constexpr DType kAnyType[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI64,
                                     DType::kI32, DType::kI16, DType::kI8,  DType::kU64,  DType::kU32,
                                     DType::kU16, DType::kU8,  DType::kBOOL};

// The rounding unit of accumulations: half precision accumulates in f32.
inline double epsilon_of(DType dtype) { return dtype == DType::kF64 ? 0x1p-52 : 0x1p-23; }
int64_t element_product(const Shape& shape);
// `count` random integers in [least, most].
std::vector<int64_t> random_list(Random& random, size_t count, int64_t least, int64_t most);
// An ascending subset of the axes.
std::vector<int64_t> random_axes(Random& random, size_t rank);
// A shape that broadcasts to `shape`.
Shape narrowed(Random& random, const Shape& shape);
// Adds indices in [-extent, extent), the i-th with the i-th extent, again and again; i32 or i64. At times one is
// outside: then the run must fail, as the reference does.
void add_indices(NodeCase& node, const Shape& shape, const std::vector<int64_t>& extents);
// Moderate values, at times with special ones among them.
inline Values mostly_moderate(Random& random) { return random.chance(15) ? Values::special : Values::moderate; }

}  // namespace backplane::testing
