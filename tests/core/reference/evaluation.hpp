// What the tests of the reference evaluator share: tensors from literals, and evaluation that must succeed.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "backplane/reference/reference.hpp"

namespace backplane::reference {

using Shape = std::vector<int64_t>;
using I64s = std::vector<int64_t>;
using F64s = std::vector<double>;

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
HostTensor tensor(DType dtype, Shape shape, std::vector<T> values) {
  return HostTensor::of<T>(dtype, std::move(shape), values);
}
inline HostTensor f32(Shape shape, std::vector<float> values) { return tensor(DType::kF32, std::move(shape), values); }
inline HostTensor f64(Shape shape, F64s values) { return tensor(DType::kF64, std::move(shape), values); }
inline HostTensor i64(Shape shape, I64s values) { return tensor(DType::kI64, std::move(shape), values); }
inline HostTensor i32(Shape shape, std::vector<int32_t> values) {
  return tensor(DType::kI32, std::move(shape), values);
}
inline HostTensor i8(Shape shape, std::vector<int8_t> values) { return tensor(DType::kI8, std::move(shape), values); }
inline HostTensor u8(Shape shape, std::vector<uint8_t> values) { return tensor(DType::kU8, std::move(shape), values); }
inline HostTensor u64(Shape shape, std::vector<uint64_t> values) {
  return tensor(DType::kU64, std::move(shape), values);
}
inline HostTensor boolean(Shape shape, std::vector<uint8_t> values) {
  return tensor(DType::kBOOL, std::move(shape), values);
}

template <class T>
std::vector<T> values(const HostTensor& x) {
  return std::vector<T>(x.data<T>(), x.data<T>() + x.elements());
}

// All outputs; a failure fails the test and gives none.
inline std::vector<HostTensor> outputs(Op op, const std::vector<HostTensor>& inputs, const AttrList& attrs = {}) {
  auto result = evaluate(op, inputs, attrs);
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  return result.ok() ? *result : std::vector<HostTensor>(3);
}

inline HostTensor output(Op op, const std::vector<HostTensor>& inputs, const AttrList& attrs = {}) {
  return outputs(op, inputs, attrs)[0];
}

inline Code failure(Op op, const std::vector<HostTensor>& inputs, const AttrList& attrs = {}) {
  return evaluate(op, inputs, attrs).status().code();
}

// Equal values, NaN being equal to NaN, and zeros only to zeros of their sign.
inline void expect_same(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << "element " << i << " is " << actual[i];
    } else {
      EXPECT_EQ(actual[i], expected[i]) << "element " << i;
      EXPECT_EQ(std::signbit(actual[i]), std::signbit(expected[i])) << "element " << i;
    }
  }
}

inline void expect_near(const HostTensor& actual, const std::vector<float>& expected, float tolerance = 1e-6f) {
  const std::vector<float> got = values<float>(actual);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << "element " << i;
}

}  // namespace backplane::reference
