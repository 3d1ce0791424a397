// Reductions over any set of axes, and arg_max / arg_min over one.
#include "call.hpp"
#include "iteration.hpp"
#include "values.hpp"

namespace backplane::reference {
namespace {

// Which group each element belongs to: `strides` walk the groups as the input is walked.
struct Grouping {
  Shape shape;
  Shape strides;
  int64_t groups = 1;
  int64_t group_size = 1;
};

Grouping group_by_axes(const Shape& shape, const std::vector<int64_t>& axes) {
  Grouping grouping{shape, Shape(shape.size(), 0)};
  std::vector<bool> reduced(shape.size());
  for (const int64_t axis : axes) reduced[static_cast<size_t>(axis)] = true;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (!reduced[axis]) grouping.strides[axis] = grouping.groups;
    (reduced[axis] ? grouping.group_size : grouping.groups) *= shape[axis];
  }
  return grouping;
}

// f(accumulator, element) over each group, from `initial`; f may look at the group's index.
template <class V, class F>
std::vector<V> fold(const Grouping& grouping, const std::vector<V>& x, V initial, F f) {
  std::vector<V> result(static_cast<size_t>(grouping.groups), initial);
  auto element = x.begin();
  walk(grouping.shape, std::array{grouping.strides}, [&](const std::array<int64_t, 1>& at) {
    const auto group = static_cast<size_t>(at[0]);
    result[group] = f(result[group], *element++, group);
  });
  return result;
}

template <class V>
std::vector<V> sum(const Grouping& grouping, const std::vector<V>& x) {
  return fold(grouping, x, V{0}, [](V total, V value, size_t) { return add(total, value); });
}

template <class V>
std::vector<V> sum_square(const Grouping& grouping, const std::vector<V>& x) {
  return fold(grouping, x, V{0}, [](V total, V value, size_t) { return add(total, multiply(value, value)); });
}

// log(sum(exp(x))) with the largest element taken out, so that exp cannot overflow.
std::vector<double> log_sum_exp(const Grouping& grouping, const std::vector<double>& x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> largest = fold(grouping, x, -kInfinity, [](double a, double b, size_t) { return maximum(a, b); });
  const std::vector<double> total = fold(grouping, x, 0.0, [&](double sum_so_far, double value, size_t group) {
    return sum_so_far + std::exp(value - largest[group]);
  });
  for (size_t group = 0; group < total.size(); ++group)
    if (std::isfinite(largest[group])) largest[group] += std::log(total[group]);
  return largest;
}

// The reductions that leave the integers; integer inputs are computed in double.
Outputs reduce_real(const Call& call, const Grouping& grouping) {
  const std::vector<double> x = load<double>(call.input(0));
  if (call.op == Op::kREDUCE_LOG_SUM_EXP) return single(store(call.output(), log_sum_exp(grouping, x)));
  const bool is_norm = call.op == Op::kREDUCE_L2;
  std::vector<double> y = is_norm ? sum_square(grouping, x) : sum(grouping, x);
  for (double& value : y) value = is_norm ? std::sqrt(value) : std::log(value);
  return single(store(call.output(), y));
}

template <class V>
std::vector<V> reduce(Op op, DType dtype, const Grouping& grouping, const std::vector<V>& x) {
  switch (op) {
    case Op::kREDUCE_SUM_SQUARE:
      return sum_square(grouping, x);
    case Op::kREDUCE_L1:
      return fold(grouping, x, V{0}, [](V total, V value, size_t) { return add(total, absolute(value)); });
    case Op::kREDUCE_PROD:
      return fold(grouping, x, V{1}, [](V total, V value, size_t) { return multiply(total, value); });
    case Op::kREDUCE_MAX:
      return fold(grouping, x, lowest<V>(dtype), [](V a, V b, size_t) { return maximum(a, b); });
    case Op::kREDUCE_MIN:
      return fold(grouping, x, highest<V>(dtype), [](V a, V b, size_t) { return minimum(a, b); });
    default:
      break;
  }
  std::vector<V> y = sum(grouping, x);
  if (op == Op::kREDUCE_MEAN)
    for (V& value : y) value = divide(value, static_cast<V>(grouping.group_size));
  return y;
}

// Whether `candidate` takes the place of `best`, which stands before it. NaN beats all numbers.
template <class V>
bool beats(V candidate, V best, bool largest, bool ties_win) {
  if constexpr (std::is_floating_point_v<V>)
    if (std::isnan(candidate) || std::isnan(best)) return std::isnan(candidate) && (ties_win || !std::isnan(best));
  if (candidate == best) return ties_win;
  return largest ? candidate > best : candidate < best;
}

template <class V>
Outputs arg_extreme(const Call& call) {
  const AxisSplit split = split_at(call.input(0).shape(), call.attrs.i64(BP_ATTR_AXIS, 0));
  const bool ties_win = call.attrs.i64(BP_ATTR_SELECT_LAST_INDEX, 0) != 0;
  const std::vector<V> x = load<V>(call.input(0));
  std::vector<int64_t> y;
  for (int64_t outer = 0; outer < split.outer; ++outer)
    for (int64_t inner = 0; inner < split.inner; ++inner) {
      const auto at = [&](int64_t i) {
        return x[static_cast<size_t>((outer * split.extent + i) * split.inner + inner)];
      };
      int64_t best = 0;
      for (int64_t i = 1; i < split.extent; ++i)
        if (beats(at(i), at(best), call.op == Op::kARG_MAX, ties_win)) best = i;
      y.push_back(best);
    }
  return single(store(call.output(), y));
}

}  // namespace

Outputs reduction(const Call& call) {
  const DType dtype = call.input(0).dtype();
  if (call.op > Op::kARG_MIN) return ordering(call);
  if (call.op == Op::kARG_MAX || call.op == Op::kARG_MIN)
    return with_domain(dtype, [&](auto domain) { return arg_extreme<decltype(domain)>(call); });
  const Grouping grouping = group_by_axes(call.input(0).shape(), call.attrs.i64s(BP_ATTR_AXES));
  if (call.op == Op::kREDUCE_L2 || call.op == Op::kREDUCE_LOG_SUM || call.op == Op::kREDUCE_LOG_SUM_EXP)
    return reduce_real(call, grouping);
  return with_domain(dtype, [&](auto domain) {
    using V = decltype(domain);
    return single(store(call.output(), reduce(call.op, dtype, grouping, load<V>(call.input(0)))));
  });
}

}  // namespace backplane::reference
