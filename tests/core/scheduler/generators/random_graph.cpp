#include "random_graph.hpp"

#include "graph_maker.hpp"

namespace backplane::testing {
namespace {

class Maker {
 public:
  Maker(uint64_t seed, int node_count, bool states) : make_(seed), node_count_(node_count) {
    window_ = make_.pick_log(1, 64);
    long_edge_percent_ = static_cast<int>(make_.pick(0, 30));
    view_percent_ = static_cast<int>(make_.pick(0, 60));
    max_extent_ = make_.pick_log(1, 48);
    zero_sizes_ = make_.chance(10);
    heavy_ops_ = make_.chance(50);
    state_count_ = states ? make_.pick(1, 3) : 0;
  }

  GeneratedGraph make() {
    add_leaves();
    for (int i = 0; i < node_count_; ++i) add_node();
    add_outputs();
    return make_.finish();
  }

 private:
  Shape any_shape() {
    Shape shape;
    for (int axis = 0; axis < 2; ++axis) shape.push_back(make_.pick_log(1, max_extent_));
    if (zero_sizes_ && make_.chance(20)) shape[static_cast<size_t>(make_.pick(0, 1))] = 0;
    return shape;
  }

  // A tensor of the window, or of anywhere.
  TensorId any() {
    const auto count = static_cast<int64_t>(pool_.size());
    const int64_t reach = make_.chance(long_edge_percent_) ? count : std::min(count, window_);
    return pool_[static_cast<size_t>(make_.pick(count - reach, count - 1))];
  }

  // A tensor or view of that shape. Falls back to the first leaf, which has elements.
  TensorId operand(const Shape& shape) {
    TensorId x = any();
    if (make_.chance(view_percent_)) x = view_of(x);
    const bool wanted = shape[0] * shape[1] != 0;
    return make_.fit(wanted && make_.elements(x) == 0 ? pool_[0] : x, shape);
  }

  // Another tensor over the same storage, or over a copy where a view is not possible.
  TensorId view_of(TensorId x) {
    const Shape shape = make_.shape(x);
    switch (make_.pick(0, 3)) {
      case 0:
        return make_.transpose(x);
      case 1:
        return make_.reshape(make_.reshape(x, {shape[0] * shape[1]}), {shape[1], shape[0]});
      case 2:
        return make_.slice(x, 0, shape[0] / 3, shape[0] - shape[0] / 3);
      default:
        return make_.slice(make_.transpose(x), 0, 0, (shape[1] + 1) / 2, shape[1] > 1 ? 2 : 1);
    }
  }

  void add_leaves() {
    pool_.push_back(make_.input({make_.pick_log(1, max_extent_), make_.pick_log(1, max_extent_)}));
    for (int64_t more = make_.pick(0, 3); more > 0; --more) pool_.push_back(make_.input(any_shape()));
    for (int64_t i = 0; i < state_count_; ++i) {
      states_.push_back(make_.state({make_.pick(1, max_extent_), make_.pick(1, max_extent_)}));
      pool_.push_back(states_.back());
    }
    for (int64_t more = make_.pick(1, 4); more > 0; --more) weights_.push_back(make_.weight(any_shape()));
    weights_.push_back(make_.weight({1, 1}));
    pool_.insert(pool_.end(), weights_.begin(), weights_.end());
  }

  void add_node() {
    const int64_t kind = make_.pick(0, 99);
    if (!states_.empty() && kind < 12) return add_store();
    if (kind < 30) return keep(add_unary());
    if (kind < 38) return keep(add_concat());
    if (kind < 46) return keep(add_choice());
    if (heavy_ops_ && kind < 60) return keep(add_heavy());
    const Shape shape = any_shape();
    const TensorId a = operand(shape);
    const TensorId b = make_.chance(10) ? a : operand(shape);
    keep(make_.op(binary(), {a, b}));
  }

  void keep(TensorId x) { pool_.push_back(x); }

  Op binary() {
    constexpr Op kOps[] = {Op::kADD, Op::kSUB, Op::kSUB, Op::kBITWISE_XOR, Op::kBITWISE_XOR, Op::kMIN, Op::kMAX};
    return kOps[make_.pick(0, 6)];
  }

  TensorId add_unary() {
    const TensorId x = operand(any_shape());
    switch (make_.pick(0, 4)) {
      case 0:
        return make_.op(Op::kCOPY, {x});
      case 1:
        return make_.op(Op::kABS, {x});
      case 2: {  // by a weight, broadcast from whatever it has
        const TensorId weight = make_.any(weights_);
        return make_.elements(weight) == 0 ? make_.op(Op::kRELU, {x})
                                           : make_.op(Op::kMUL, {x, make_.fit(weight, make_.shape(x))});
      }
      default:
        return make_.op(Op::kNEG, {x});
    }
  }

  // 1 to 9 parts along one axis.
  TensorId add_concat() {
    const Shape shape = any_shape();
    const int64_t axis = make_.pick(0, 1);
    std::vector<TensorId> parts;
    for (int64_t count = make_.pick(1, 9); count > 0; --count) {
      Shape part = shape;
      part[static_cast<size_t>(axis)] = make_.pick(zero_sizes_ ? 0 : 1, 4);
      parts.push_back(operand(part));
    }
    return make_.concat(parts, axis);
  }

  TensorId add_choice() {
    const Shape shape = any_shape();
    const TensorId condition = make_.op(Op::kLT, {operand(shape), operand(shape)});
    return make_.op(Op::kWHERE, {condition, operand(shape), operand(shape)});
  }

  TensorId add_heavy() {
    const Shape shape = any_shape();
    switch (make_.pick(0, 3)) {
      case 0:
        return make_.reduce(operand(shape), make_.pick(0, 1));
      case 1: {
        const TensorId table = operand({make_.pick(1, 8), shape[1]});
        return make_.gather(table, make_.indices(make_.pick(1, 8), make_.shape(table)[0]));
      }
      default: {
        const int64_t depth = make_.pick(1, 8);
        return make_.op(Op::kMATMUL, {operand({shape[0], depth}), operand({depth, shape[1]})});
      }
    }
  }

  // Writes a state: whole, some rows, or some columns.
  void add_store() {
    TensorId target = make_.any(states_);
    const Shape shape = make_.shape(target);
    const int64_t axis = make_.pick(0, 2);
    if (axis < 2) {
      const int64_t extent = shape[static_cast<size_t>(axis)], start = make_.pick(0, extent - 1);
      target = make_.slice(target, axis, start, make_.pick(1, extent - start));
    }
    const Shape part = make_.shape(target);
    if (make_.chance(50))
      keep(make_.store(target, Op::kCOPY, {operand(part)}));
    else
      keep(make_.store(target, binary(), {operand(part), operand(part)}));
  }

  void add_outputs() {
    make_.output(pool_.back());
    for (int64_t more = make_.pick(0, 4); more > 0; --more) {
      const TensorId x = any();
      make_.output(make_.chance(30) ? view_of(x) : x);
    }
    if (make_.chance(10)) make_.output(pool_.back());
    if (make_.chance(10)) make_.output(make_.any(weights_));
    if (make_.chance(10)) make_.output(pool_.front());
    for (const TensorId state : states_) make_.output(state);
  }

  GraphMaker make_;
  const int node_count_;
  int64_t window_ = 0, max_extent_ = 0, state_count_ = 0;
  int long_edge_percent_ = 0, view_percent_ = 0;
  bool zero_sizes_ = false, heavy_ops_ = false;
  std::vector<TensorId> pool_, weights_, states_;
};

}  // namespace

RandomGraph make_random_graph(uint64_t seed, int node_count) { return Maker(seed, node_count, false).make(); }

RandomGraph make_stateful_graph(uint64_t seed, int node_count) { return Maker(seed, node_count, true).make(); }

}  // namespace backplane::testing
