// GraphMaker: a GraphBuilder with a random source, for generators. Everything is i32 with arithmetic mod 2^32; weights
// are odd, so that a product with one loses nothing, and any wrong byte reaches an output. Failures abort: generators
// only build what is legal. Thread safety: none.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "backplane/graph/builder.hpp"
#include "generated_graph.hpp"

namespace backplane::testing {

using Shape = std::vector<int64_t>;

// This bit of a seed gives all tensors other names, and changes nothing else.
inline constexpr uint64_t kOtherNames = uint64_t{1} << 63;

class GraphMaker {
 public:
  explicit GraphMaker(uint64_t seed)
      : random_((seed & ~kOtherNames) * 0x9E3779B97F4A7C15u + 1), prefix_((seed & kOtherNames) != 0 ? "other." : "") {}

  // ---- randomness
  int64_t pick(int64_t low, int64_t high);      // inclusive
  int64_t pick_log(int64_t low, int64_t high);  // log-uniform; low >= 1
  bool chance(int percent) { return pick(0, 99) < percent; }
  template <class T>
  const T& any(const std::vector<T>& list) {
    return list[static_cast<size_t>(pick(0, static_cast<int64_t>(list.size()) - 1))];
  }

  // ---- leaves
  TensorId input(const Shape& shape);
  TensorId weight(const Shape& shape);
  TensorId state(const Shape& shape);
  // i32 indices below `extent`, as a constant.
  TensorId indices(int64_t count, int64_t extent);

  // ---- nodes and views
  TensorId op(Op op, std::vector<TensorId> inputs, const AttrList& attrs = {}, std::string name = {});
  TensorId concat(const std::vector<TensorId>& parts, int64_t axis);
  TensorId reduce(TensorId x, int64_t axis);  // sum, axis kept
  TensorId gather(TensorId x, TensorId rows);
  TensorId slice(TensorId x, int64_t axis, int64_t start, int64_t count, int64_t step = 1);
  TensorId reshape(TensorId x, const Shape& shape);
  TensorId transpose(TensorId x);  // of two axes
  TensorId broadcast(TensorId x, const Shape& shape);
  // A view of x with that shape of two axes: parts of it, repeated where x is too small. REQUIRES: x has elements if
  // the shape has.
  TensorId fit(TensorId x, const Shape& shape);
  // Writes op(inputs) into a state or a view of one.
  TensorId store(TensorId target, Op op, const std::vector<TensorId>& inputs);

  Shape shape(TensorId x) const { return builder_.shape(x); }
  int64_t elements(TensorId x) const;
  void output(TensorId x);
  GeneratedGraph finish();

 private:
  HostTensor values(const Shape& shape, bool odd);
  TensorId fit_axis(TensorId x, int64_t axis, int64_t extent);

  std::mt19937_64 random_;
  const std::string prefix_;
  GraphBuilder builder_;
  std::map<std::string, HostTensor> inputs_;
  int states_ = 0, outputs_ = 0;
};

}  // namespace backplane::testing
