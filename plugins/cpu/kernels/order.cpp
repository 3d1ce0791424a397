// cum_sum, top_k and sort: work along one axis, a line at a time.

#include <numeric>

#include "kernels/checks.hpp"
#include "kernels/element_types.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/families.hpp"

namespace backplane_cpu {
namespace {

// The lines of a tensor along an axis.
struct Lines {
  Lines(const TensorView& tensor, uint32_t axis) : stride(tensor.strides()[axis]) {
    std::vector<int64_t> shape(tensor.shape().begin(), tensor.shape().end());
    std::vector<int64_t> strides(tensor.strides().begin(), tensor.strides().end());
    shape.erase(shape.begin() + axis);
    strides.erase(strides.begin() + axis);
    starts = Walk(shape, strides, element_bytes(tensor.dtype()));
  }
  Walk starts;
  int64_t stride;  // bytes between the elements of a line
};

template <class T>
class CumSumKernel final : public Kernel {
 public:
  CumSumKernel(const NodeView& node, uint32_t axis)
      : x_(node.input(0), axis),
        y_(node.output(0), axis),
        extent_(node.input(0).shape()[axis]),
        exclusive_(node.i64(BP_ATTR_EXCLUSIVE, 0) != 0),
        reverse_(node.i64(BP_ATTR_REVERSE, 0) != 0) {}
  uint32_t max_workers() const override { return workers_for(x_.starts.count() * extent_); }
  void run(const RunArgs& args) const noexcept override {
    const Range range = share(x_.starts.count(), 1, args.worker, args.workers);
    for (int64_t line = range.begin; line < range.end; ++line) {
      const std::byte* x = args.inputs[0] + x_.starts.position(line);
      std::byte* y = args.outputs[0] + y_.starts.position(line);
      // Floats are summed in double: a line may be long.
      std::conditional_t<std::is_integral_v<T>, uint64_t, double> sum = 0;
      for (int64_t i = 0; i < extent_; ++i) {
        const int64_t at = reverse_ ? extent_ - 1 - i : i;
        const auto value = static_cast<decltype(sum)>(value_of(load_element<T>(x + at * x_.stride)));
        if (exclusive_) store_element(y + at * y_.stride, rounded(sum));
        sum += value;
        if (!exclusive_) store_element(y + at * y_.stride, rounded(sum));
      }
    }
  }

 private:
  template <class V>
  static T rounded(V sum) {
    if constexpr (kIsHalf<T>) {
      return element_of<T>(round_to_odd(sum));
    } else {
      return static_cast<T>(sum);
    }
  }

  Lines x_, y_;
  int64_t extent_;
  bool exclusive_, reverse_;
};

struct Order {
  int64_t count;  // of a line's elements that are given
  bool largest, nan_first;
};

// top_k and sort. T is the compute type; elements are moved as they are.
template <class T>
class OrderKernel final : public Kernel {
 public:
  OrderKernel(const NodeView& node, uint32_t axis, const Order& order)
      : x_(node.input(0), axis),
        values_(node.has_output(0) ? Lines(node.output(0), axis) : x_),
        indices_(node.has_output(1) ? Lines(node.output(1), axis) : x_),
        extent_(node.input(0).shape()[axis]),
        element_(element_bytes(node.input(0).dtype())),
        line_(node.input(0).dtype(), Walk({&extent_, 1}, {&x_.stride, 1}, element_)),
        order_(order),
        has_values_(node.has_output(0)),
        has_indices_(node.has_output(1)) {}
  size_t scratch_bytes(uint32_t workers) const override { return workers * worker_bytes(); }
  uint32_t max_workers() const override { return workers_for(8 * x_.starts.count() * extent_); }
  void run(const RunArgs& args) const noexcept override {
    if (order_.count == 0) return;
    auto* places = reinterpret_cast<int64_t*>(args.scratch + args.worker * worker_bytes());
    auto* keys = reinterpret_cast<T*>(places + extent_);
    const Range range = share(x_.starts.count(), 1, args.worker, args.workers);
    for (int64_t line = range.begin; line < range.end; ++line) {
      const std::byte* x = args.inputs[0] + x_.starts.position(line);
      sort_line(x, keys, places);
      if (has_values_) give_values(x, places, args.outputs[0] + values_.starts.position(line));
      for (int64_t i = 0; has_indices_ && i < order_.count; ++i)
        store_element(args.outputs[1] + indices_.starts.position(line) + i * indices_.stride, places[i]);
    }
  }

 private:
  size_t worker_bytes() const { return (static_cast<size_t>(extent_) * (sizeof(int64_t) + sizeof(T)) + 63) / 64 * 64; }

  void give_values(const std::byte* x, const int64_t* places, std::byte* y) const {
    for (int64_t i = 0; i < order_.count; ++i) std::memcpy(y + i * values_.stride, x + places[i] * x_.stride, element_);
  }

  // The indices in order; equal elements by index, which makes the order total.
  void sort_line(const std::byte* x, T* keys, int64_t* places) const {
    alignas(64) std::byte stage[kChunk * 8];
    for (int64_t at = 0; at < extent_; at += kChunk) {
      const int64_t count = std::min(kChunk, extent_ - at);
      std::memcpy(keys + at, line_.read(x, at, count, stage), static_cast<size_t>(count) * sizeof(T));
    }
    std::iota(places, places + extent_, int64_t{0});
    const auto before = [keys, this](int64_t i, int64_t j) {
      const T a = keys[i], b = keys[j];
      const bool a_is_nan = a != a, b_is_nan = b != b;
      if (a_is_nan != b_is_nan) return a_is_nan == order_.nan_first;
      if (a_is_nan || a == b) return i < j;
      return order_.largest ? a > b : a < b;
    };
    if (order_.count == extent_) return std::sort(places, places + extent_, before);
    std::partial_sort(places, places + order_.count, places + extent_, before);
  }

  Lines x_, values_, indices_;
  int64_t extent_;
  size_t element_;
  ChunkReader line_;
  Order order_;
  bool has_values_, has_indices_;
};

// The axis of input 0 that the node works along.
uint32_t check_order(const NodeView& node, int64_t fallback) {
  const TensorView x = node.input(0);
  check_type(x, is_number(x.dtype()), "a number");
  const int64_t axis = node.i64(BP_ATTR_AXIS, fallback);
  require(axis >= 0 && axis < x.rank(), "axis must be an axis of input 0");
  return static_cast<uint32_t>(axis);
}

}  // namespace

Prepared prepare_cum_sum(const NodeView& node) {
  check_signature(node, 1, 1, 1, {BP_ATTR_AXIS, BP_ATTR_EXCLUSIVE, BP_ATTR_REVERSE});
  const uint32_t axis = check_order(node, 0);
  const TensorView x = node.input(0), y = node.output(0);
  check_type(y, y.dtype() == x.dtype(), "the type of input 0");
  check_shape(y, x.shape());
  return with_number_type(x.dtype(), [&](auto element) -> Prepared {
    return {std::make_unique<CumSumKernel<decltype(element)>>(node, axis), {}, 0};
  });
}

namespace {

// Outputs: values and indices, `order.count` of them along the axis; at least one.
Prepared prepare_order(const NodeView& node, uint32_t axis, const Order& order) {
  require(node.output_count() >= 1 && node.output_count() <= 2, "1 or 2 outputs");
  const TensorView x = node.input(0);
  std::vector<int64_t> shape(x.shape().begin(), x.shape().end());
  shape[axis] = order.count;
  for (uint32_t i = 0; i < 2; ++i) {
    if (!node.has_output(i)) continue;
    check_shape(node.output(i), shape);
    check_type(node.output(i), node.output(i).dtype() == (i == 0 ? x.dtype() : uint32_t{BP_TYPE_I64}),
               i == 0 ? "the type of input 0" : "i64");
  }
  switch (compute_of(x.dtype())) {
    case Compute::kF32:
      return {std::make_unique<OrderKernel<float>>(node, axis, order), {}, 0};
    case Compute::kF64:
      return {std::make_unique<OrderKernel<double>>(node, axis, order), {}, 0};
    case Compute::kU64:
      return {std::make_unique<OrderKernel<uint64_t>>(node, axis, order), {}, 0};
    default:
      return {std::make_unique<OrderKernel<int64_t>>(node, axis, order), {}, 0};
  }
}

void check_order_attrs(const NodeView& node, std::initializer_list<uint32_t> known) {
  require(node.input_count() == 1 && node.has_input(0), "1 input");
  if (const bp_attr* a = node.unknown_attr({known.begin(), known.size()}))
    refuse("attribute " + std::to_string(a->key) + " is not known for this op");
}

}  // namespace

Prepared prepare_top_k(const NodeView& node) {
  check_order_attrs(node, {BP_ATTR_AXIS, BP_ATTR_K, BP_ATTR_LARGEST});
  const uint32_t axis = check_order(node, static_cast<int64_t>(node.input(0).rank()) - 1);
  const int64_t k = node.i64(BP_ATTR_K, -1);
  require(k >= 0 && k <= node.input(0).shape()[axis], "k must be within the axis");
  return prepare_order(node, axis, {k, node.i64(BP_ATTR_LARGEST, 1) != 0, true});
}

Prepared prepare_sort(const NodeView& node) {
  check_order_attrs(node, {BP_ATTR_AXIS, BP_ATTR_DESCENDING});
  const uint32_t axis = check_order(node, static_cast<int64_t>(node.input(0).rank()) - 1);
  const bool descending = node.i64(BP_ATTR_DESCENDING, 0) != 0;
  return prepare_order(node, axis, {node.input(0).shape()[axis], descending, descending});
}

}  // namespace backplane_cpu
