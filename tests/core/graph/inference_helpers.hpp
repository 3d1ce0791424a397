// Short ways to ask for inference and to check the answer.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/graph/inference.hpp"

namespace backplane::testing {

using Shape = std::vector<int64_t>;
using Inputs = std::vector<std::optional<TensorSpec>>;

inline std::optional<TensorSpec> f32(Shape shape) { return TensorSpec{DType::kF32, std::move(shape)}; }
inline std::optional<TensorSpec> i64(Shape shape) { return TensorSpec{DType::kI64, std::move(shape)}; }
inline std::optional<TensorSpec> i32(Shape shape) { return TensorSpec{DType::kI32, std::move(shape)}; }
inline std::optional<TensorSpec> u8(Shape shape) { return TensorSpec{DType::kU8, std::move(shape)}; }
inline std::optional<TensorSpec> boolean(Shape shape) { return TensorSpec{DType::kBOOL, std::move(shape)}; }

inline AttrValue num(int64_t value) { return value; }
inline AttrValue real(double value) { return value; }
inline AttrValue text(std::string value) { return value; }
inline AttrValue list(std::vector<int64_t> values) { return values; }
inline AttrValue reals(std::vector<double> values) { return values; }

// The shape of output `index`, which must have the type.
inline Shape shape_of(Op op, const Inputs& inputs, const AttrList& attrs = {}, DType dtype = DType::kF32,
                      size_t index = 0) {
  const auto specs = infer(op, inputs, attrs);
  EXPECT_TRUE(specs.ok()) << specs.status().to_string();
  if (!specs.ok() || specs->size() <= index) return {-1};
  EXPECT_EQ(type_name((*specs)[index].dtype), type_name(dtype));
  return (*specs)[index].shape;
}

// Expects a refusal that begins with the op's name and has `part` in its message.
inline void expect_refusal(Op op, const Inputs& inputs, const AttrList& attrs, std::string_view part) {
  const auto specs = infer(op, inputs, attrs);
  ASSERT_FALSE(specs.ok()) << op_name(op) << " should have been refused: " << part;
  EXPECT_EQ(specs.status().code(), Code::invalid_argument);
  const std::string& message = specs.status().message();
  EXPECT_EQ(message.find(op_name(op)), 0u) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

}  // namespace backplane::testing
