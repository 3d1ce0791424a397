// The key of a graph: equal for equal structure, another for every change of it.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "backplane/graph/builder.hpp"

namespace backplane {
namespace {

using Shape = std::vector<int64_t>;

// A small graph with every part that can change.
struct Recipe {
  DType dtype = DType::kF32;
  Shape shape = {2, 4};
  Op op = Op::kADD;
  int64_t axis = 1;
  double alpha = 0.5;
  std::string mode = "constant";
  Shape pads = {0, 1, 0, 1};
  Shape order = {1, 0};
  int64_t slice_start = 0;
  bool swap_inputs = false;
  bool input_is_state = false;
  bool second_output = false;
  float value = 1;
  std::string name = "n";
};

uint64_t key_of(const Recipe& recipe) {
  GraphBuilder builder;
  const TensorId x = recipe.input_is_state ? builder.state(recipe.name + "x", recipe.dtype, recipe.shape).value()
                                           : builder.input(recipe.name + "x", recipe.dtype, recipe.shape).value();
  HostTensor value = HostTensor::zeros(recipe.dtype, recipe.shape).value();
  value.mutable_bytes()[3] = static_cast<std::byte>(recipe.value);
  const TensorId c = builder.constant(value, recipe.name + "c").value();
  TensorId y = builder.op(recipe.op, {recipe.swap_inputs ? c : x, recipe.swap_inputs ? x : c}, {}, recipe.name).value();
  y = builder.op(Op::kLEAKY_RELU, {y}, {{BP_ATTR_ALPHA, recipe.alpha}}).value();
  const TensorId soft = builder.op(Op::kSOFTMAX, {y}, {{BP_ATTR_AXIS, recipe.axis}}).value();
  y = builder.op(Op::kPAD, {soft}, {{BP_ATTR_PADS, recipe.pads}, {BP_ATTR_MODE, recipe.mode}}).value();
  y = builder.permute(y, recipe.order).value();
  y = builder.slice(y, 0, recipe.slice_start, 2).value();
  y = builder.op(Op::kEXP, {y}).value();
  EXPECT_TRUE(builder.output(y, recipe.name + "y").ok());
  if (recipe.second_output) {
    EXPECT_TRUE(builder.output(soft, recipe.name + "soft").ok());
  }
  return builder.finish().value()->key();
}

TEST(StructuralHash, SameGraphBuiltTwice) { EXPECT_EQ(key_of({}), key_of({})); }

TEST(StructuralHash, NamesAndConstantValuesDoNotMatter) {
  Recipe other;
  other.name = "quite another name";
  other.value = 2;
  EXPECT_EQ(key_of(other), key_of({}));
}

TEST(StructuralHash, DeadPartsDoNotMatter) {
  const auto key = [](bool dead) {
    GraphBuilder builder;
    const TensorId x = builder.input("x", DType::kF32, Shape{4}).value();
    if (dead) {
      EXPECT_TRUE(builder.op(Op::kEXP, {x}, {}, "dead").ok());
    }
    EXPECT_TRUE(builder.output(builder.op(Op::kRELU, {x}).value(), "y").ok());
    return builder.finish().value()->key();
  };
  EXPECT_EQ(key(true), key(false));
}

TEST(StructuralHash, OrderOfAttributesDoesNotMatter) {
  const auto key = [](const AttrList& attrs) {
    GraphBuilder builder;
    const TensorId x = builder.input("x", DType::kF32, Shape{4}).value();
    EXPECT_TRUE(builder.output(builder.op(Op::kHARD_SIGMOID, {x}, attrs).value(), "y").ok());
    return builder.finish().value()->key();
  };
  EXPECT_EQ(key({{BP_ATTR_ALPHA, 1.0}, {BP_ATTR_BETA, 2.0}}), key({{BP_ATTR_BETA, 2.0}, {BP_ATTR_ALPHA, 1.0}}));
  EXPECT_NE(key({{BP_ATTR_ALPHA, 1.0}, {BP_ATTR_BETA, 2.0}}), key({{BP_ATTR_ALPHA, 2.0}, {BP_ATTR_BETA, 1.0}}));
  EXPECT_NE(key({{BP_ATTR_ALPHA, 0.0}}), key({{BP_ATTR_ALPHA, -0.0}}));
  EXPECT_NE(key({{BP_ATTR_ALPHA, 0.2}}), key({}));
}

// Where neither bytes nor strides tell two shapes apart, or only strides tell two views apart.
TEST(StructuralHash, ShapesAndStridesCountEachForThemselves) {
  const auto key = [](const Shape& shape, const Shape& order) {
    GraphBuilder builder;
    const TensorId x = builder.input("x", DType::kF32, shape).value();
    const TensorId view = builder.permute(x, order).value();
    EXPECT_TRUE(builder.output(builder.op(Op::kRELU, {view}).value(), "y").ok());
    return builder.finish().value()->key();
  };
  EXPECT_NE(key({0, 1}, {0, 1}), key({1, 0}, {0, 1}));
  EXPECT_NE(key({2, 2, 2}, {1, 0, 2}), key({2, 2, 2}, {0, 2, 1}));
}

TEST(StructuralHash, EveryChangeGivesAnotherKey) {
  const std::function<void(Recipe&)> changes[] = {
      [](Recipe&) {},
      [](Recipe& r) { r.dtype = DType::kF64; },
      [](Recipe& r) { r.dtype = DType::kF16; },
      [](Recipe& r) {
        r.shape = {4, 2};
      },
      [](Recipe& r) {
        r.shape = {2, 5};
      },
      [](Recipe& r) { r.op = Op::kSUB; },
      [](Recipe& r) { r.axis = 0; },
      [](Recipe& r) { r.alpha = 0.25; },
      [](Recipe& r) { r.mode = "reflect"; },
      [](Recipe& r) { r.mode = "edge"; },
      [](Recipe& r) {
        r.pads = {0, 1, 0, 0};
      },
      [](Recipe& r) {
        r.pads = {1, 0, 1, 0};
      },
      [](Recipe& r) {
        r.order = {0, 1};
      },
      [](Recipe& r) { r.slice_start = 1; },
      [](Recipe& r) { r.swap_inputs = true; },
      [](Recipe& r) { r.input_is_state = true; },
      [](Recipe& r) { r.second_output = true; },
  };
  std::set<uint64_t> keys;
  for (const auto& change : changes) {
    Recipe recipe;
    change(recipe);
    keys.insert(key_of(recipe));
  }
  EXPECT_EQ(keys.size(), std::size(changes));
}

}  // namespace
}  // namespace backplane
