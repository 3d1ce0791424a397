// Views against a plain list of element numbers: whatever a view says it shows, by its offset and strides, must be the
// elements that NumPy's definition of the operation shows.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "backplane/graph/builder.hpp"

namespace backplane {
namespace {

using Shape = std::vector<int64_t>;

int64_t count_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// Calls visit(index) for every index of the shape, in row-major order.
template <class Visit>
void for_each_index(const Shape& shape, Visit visit) {
  Shape index(shape.size());
  for (int64_t i = 0; i < count_of(shape); ++i) {
    int64_t rest = i;
    for (size_t axis = shape.size(); axis-- > 0;) {
      index[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    visit(index);
  }
}

// The naive tensor: which element of the root stands at each place.
struct Naive {
  Shape shape;
  std::vector<int64_t> elements;

  int64_t at(const Shape& index) const {
    int64_t place = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) place = place * shape[axis] + index[axis];
    return elements[place];
  }
  template <class Source>
  Naive from(const Shape& new_shape, Source source) const {
    Naive result{new_shape, {}};
    for_each_index(new_shape, [&](const Shape& index) { result.elements.push_back(at(source(index))); });
    return result;
  }
};

Naive iota(const Shape& shape) {
  Naive naive{shape, std::vector<int64_t>(count_of(shape))};
  std::iota(naive.elements.begin(), naive.elements.end(), 0);
  return naive;
}

class ViewChain {
 public:
  explicit ViewChain(uint64_t seed) : random_(seed) {
    Shape shape(random_below(5));
    for (int64_t& extent : shape) extent = random_below(12) == 0 ? 0 : 1 + random_below(4);
    naive_ = iota(shape);
    x_ = builder_.input("x", DType::kF32, shape).value();
  }

  void step() {
    switch (random_below(4)) {
      case 0:
        return permute();
      case 1:
        return slice();
      case 2:
        return broadcast();
      default:
        return reshape();
    }
  }

  // What the graph says about the view.
  void check() {
    GraphBuilder copy;
    std::swap(copy, builder_);
    ASSERT_TRUE(copy.output(x_, "y").ok());
    const auto graph = copy.finish().value();
    const TensorId y = graph->find_output("y")->tensor;
    const bp_tensor& tensor = graph->tensor(y);
    const auto shape = graph->shape(y), strides = graph->strides(y);
    ASSERT_EQ(Shape(shape.begin(), shape.end()), naive_.shape);
    size_t place = 0;
    uint64_t end = 0;
    for_each_index(naive_.shape, [&](const Shape& index) {
      uint64_t byte = tensor.offset;
      for (size_t axis = 0; axis < index.size(); ++axis) byte += static_cast<uint64_t>(index[axis] * strides[axis]);
      EXPECT_EQ(byte, static_cast<uint64_t>(4 * naive_.elements[place++]));
      end = std::max(end, byte + 4);
    });
    EXPECT_EQ(tensor.bytes, end == 0 ? 0 : end - tensor.offset);
    if (!graph->is_view(y)) return;
    EXPECT_FALSE(graph->is_view(tensor.view_of));
    EXPECT_LE(tensor.offset + tensor.bytes, graph->tensor(tensor.view_of).bytes);
  }

 private:
  int64_t random_below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }

  void permute() {
    Shape order(naive_.shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    Shape shape;
    for (int64_t axis : order) shape.push_back(naive_.shape[axis]);
    naive_ = naive_.from(shape, [&](const Shape& index) {
      Shape source(index.size());
      for (size_t axis = 0; axis < index.size(); ++axis) source[order[axis]] = index[axis];
      return source;
    });
    x_ = builder_.permute(x_, order).value();
  }

  void slice() {
    if (naive_.shape.empty()) return;
    const int64_t axis = random_below(static_cast<int64_t>(naive_.shape.size()));
    const int64_t extent = naive_.shape[axis];
    const int64_t start = random_below(extent + 1), step = 1 + random_below(3);
    const int64_t most = (extent - start + step - 1) / step;
    const int64_t count = most - (most > 1 ? random_below(2) : 0);
    Shape shape = naive_.shape;
    shape[axis] = count;
    naive_ = naive_.from(shape, [&](Shape index) {
      index[axis] = start + index[axis] * step;
      return index;
    });
    x_ = builder_.slice(x_, axis, start, count, step).value();
  }

  void broadcast() {
    if (naive_.elements.size() > 2000 || naive_.shape.size() > 5) return;
    Shape shape = naive_.shape;
    for (int64_t& extent : shape)
      if (extent == 1) extent = 1 + random_below(3);
    const size_t added = static_cast<size_t>(random_below(2));
    if (added) shape.insert(shape.begin(), 1 + random_below(3));
    const Shape old = naive_.shape;
    naive_ = naive_.from(shape, [&](const Shape& index) {
      Shape source(index.begin() + static_cast<int64_t>(added), index.end());
      for (size_t axis = 0; axis < source.size(); ++axis)
        if (old[axis] == 1) source[axis] = 0;
      return source;
    });
    x_ = builder_.broadcast(x_, shape).value();
  }

  // Splits the element count into random factors. Where a copy is put in, the naive tensor starts anew.
  void reshape() {
    Shape shape;
    int64_t rest = count_of(naive_.shape);
    if (rest == 0) shape = {0, 1 + random_below(3)};
    for (int64_t factor : {5, 3, 2, 2, 2})
      if (rest > 0 && rest % factor == 0 && random_below(2)) {
        shape.push_back(factor);
        rest /= factor;
      }
    if (rest > 0) shape.insert(shape.begin() + random_below(static_cast<int64_t>(shape.size()) + 1), rest);
    if (random_below(2)) shape.insert(shape.begin() + random_below(static_cast<int64_t>(shape.size()) + 1), 1);
    const TensorId reshaped = builder_.reshape(x_, shape).value();
    if (reshaped > x_ + 1) naive_ = iota(naive_.shape);
    naive_.shape = shape;
    x_ = reshaped;
  }

  std::mt19937_64 random_;
  GraphBuilder builder_;
  Naive naive_;
  TensorId x_ = 0;
};

TEST(BuilderViews, RandomChainsShowTheElementsThatNumPyWould) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    ViewChain chain(seed);
    for (uint64_t step = 0; step < 1 + seed % 7; ++step) chain.step();
    chain.check();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

class Views : public ::testing::Test {
 protected:
  TensorId input(const char* name, const Shape& shape, DType dtype = DType::kF32) {
    return builder_.input(name, dtype, shape).value();
  }
  GraphBuilder builder_;
};

TEST_F(Views, WhatChangesNothingGivesTheTensorItself) {
  const TensorId x = input("x", {2, 3});
  EXPECT_EQ(builder_.reshape(x, Shape{2, 3}).value(), x);
  EXPECT_EQ(builder_.permute(x, Shape{0, 1}).value(), x);
  EXPECT_EQ(builder_.slice(x, 1, 0, 3).value(), x);
  EXPECT_EQ(builder_.broadcast(x, Shape{2, 3}).value(), x);
  EXPECT_EQ(builder_.dense(x).value(), x);
}

TEST_F(Views, ReshapeCopiesOnlyWhereStridesCannotSayIt) {
  const TensorId x = input("x", {4, 3, 2});
  const TensorId rows = builder_.slice(x, 0, 0, 2, 2).value();  // [2, 3, 2], inner axes contiguous
  const TensorId merged = builder_.reshape(rows, Shape{2, 6}).value();
  const TensorId turned = builder_.permute(x, Shape{2, 1, 0}).value();
  const TensorId copied = builder_.reshape(turned, Shape{24}).value();
  ASSERT_TRUE(builder_.output(merged, "merged").ok());
  ASSERT_TRUE(builder_.output(copied, "copied").ok());
  const auto graph = builder_.finish().value();
  ASSERT_EQ(graph->node_count(), 1u);
  EXPECT_EQ(graph->op(0), Op::kCOPY);
  EXPECT_EQ(graph->tensor(graph->find_output("merged")->tensor).view_of, graph->find_input("x")->tensor);
  EXPECT_EQ(graph->tensor(graph->find_output("copied")->tensor).view_of, graph->node_outputs(0)[0]);
}

TEST_F(Views, DenseCopiesWhatIsNotDense) {
  const TensorId x = input("x", {4, 3});
  const TensorId rows = builder_.slice(x, 0, 1, 2).value();
  EXPECT_EQ(builder_.dense(rows).value(), rows) << "whole rows are dense, though not at the start";
  const TensorId columns = builder_.slice(x, 1, 1, 2).value();
  EXPECT_NE(builder_.dense(columns).value(), columns);
}

TEST_F(Views, Refusals) {
  const TensorId x = input("x", {4, 3});
  const auto message = [](const Result<TensorId>& result) { return result.status().message(); };
  EXPECT_NE(message(builder_.reshape(x, Shape{5})).find("numbers of elements differ"), std::string::npos);
  EXPECT_NE(message(builder_.reshape(x, Shape{-1, 3})).find("negative"), std::string::npos);
  EXPECT_NE(message(builder_.permute(x, Shape{0})).find("one entry an axis"), std::string::npos);
  EXPECT_NE(message(builder_.permute(x, Shape{0, 0})).find("every axis once"), std::string::npos);
  EXPECT_NE(message(builder_.permute(x, Shape{0, 2})).find("x: f32 [4, 3]"), std::string::npos);
  EXPECT_NE(message(builder_.slice(x, 2, 0, 1)).find("no such axis"), std::string::npos);
  EXPECT_NE(message(builder_.slice(x, 0, 3, 2)).find("beyond the extent 4"), std::string::npos);
  EXPECT_NE(message(builder_.slice(x, 0, 0, 2, INT64_MAX)).find("beyond the extent 4"), std::string::npos);
  EXPECT_NE(message(builder_.slice(x, 0, INT64_MAX, INT64_MAX)).find("beyond"), std::string::npos);
  EXPECT_NE(message(builder_.slice(x, 0, 5, 0)).find("beyond"), std::string::npos);
  EXPECT_NE(message(builder_.slice(x, 0, -1, 1)).find("at least 0"), std::string::npos);
  EXPECT_NE(message(builder_.slice(x, 0, 0, 1, 0)).find("at least 1"), std::string::npos);
  EXPECT_NE(message(builder_.broadcast(x, Shape{3})).find("too few axes"), std::string::npos);
  EXPECT_NE(message(builder_.broadcast(x, Shape{2, 4, 4})).find("axis 1 has extent 3"), std::string::npos);
  EXPECT_FALSE(builder_.broadcast(x, Shape{INT64_MAX, 4, 3}).ok());
}

TEST_F(Views, BlockQuantisedTensorsKeepTheirBlocks) {
  const TensorId q = input("q", {4, 2, 64}, DType::kQ8_0);
  const TensorId half = builder_.slice(q, 2, 32, 32).value();
  const TensorId flat = builder_.reshape(q, Shape{8, 64}).value();
  const TensorId turned = builder_.permute(q, Shape{1, 0, 2}).value();
  const TensorId merged = builder_.reshape(half, Shape{8, 32}).value();
  EXPECT_FALSE(builder_.slice(q, 2, 16, 32).ok());
  EXPECT_FALSE(builder_.slice(q, 2, 0, 2, 32).ok());
  EXPECT_FALSE(builder_.permute(q, Shape{2, 0, 1}).ok());
  EXPECT_FALSE(builder_.reshape(q, Shape{32, 16}).ok());
  for (TensorId t : {half, flat, turned, merged}) ASSERT_TRUE(builder_.output(t, std::to_string(t)).ok());
  const auto graph = builder_.finish().value();
  const auto view = [&](TensorId t) { return graph->find_output(std::to_string(t))->tensor; };
  EXPECT_EQ(graph->tensor(view(half)).offset, 34u);
  EXPECT_EQ(graph->tensor(view(half)).bytes, 7u * 68 + 34);
  EXPECT_EQ(graph->strides(view(turned))[1], 2 * 68);
  EXPECT_EQ(graph->strides(view(merged))[0], 68);
  EXPECT_EQ(graph->strides(view(merged))[1], 34);
}

}  // namespace
}  // namespace backplane
