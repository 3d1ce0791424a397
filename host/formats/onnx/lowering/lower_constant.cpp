// Constants, and ops whose result is known once shapes are.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "backplane/base/text.hpp"
#include "lowering/lowering_table.hpp"
#include "model_types.hpp"

namespace backplane::onnx_import {
namespace {

// A list of an attribute as a tensor; the attribute's lists are wider than the tensor's elements.
template <class T, class Source>
HostTensor listed(DType dtype, const std::vector<Source>& values, bool scalar) {
  const std::vector<T> narrow(values.begin(), values.end());
  std::vector<int64_t> shape;
  if (!scalar) shape.push_back(static_cast<int64_t>(narrow.size()));
  return HostTensor::of<T>(dtype, std::move(shape), std::span<const T>(narrow));
}

// Null if the node holds something else.
std::optional<OnnxText> constant_text(NodeContext& c) {
  if (const auto* value = c.node().find("value")) {
    const OnnxText* text = std::get_if<OnnxText>(value);
    return text ? std::optional(*text) : std::nullopt;
  }
  if (c.has_attr("value_string")) return OnnxText{{}, {c.text("value_string", "")}};
  if (!c.has_attr("value_strings")) return std::nullopt;
  std::vector<std::string> texts = c.texts("value_strings");
  return OnnxText{{static_cast<int64_t>(texts.size())}, std::move(texts)};
}

Status constant(NodeContext& c) {
  if (const std::optional<OnnxText> text = constant_text(c)) return c.set(0, c.values.add_text(*text));
  HostTensor value;
  if (c.has_attr("value")) {
    if (const HostTensor* found = c.tensor("value")) value = *found;
  } else if (c.has_attr("value_int")) {
    value = listed<int64_t>(DType::kI64, std::vector<int64_t>{c.i64("value_int", 0)}, true);
  } else if (c.has_attr("value_ints")) {
    value = listed<int64_t>(DType::kI64, c.i64s("value_ints"), false);
  } else if (c.has_attr("value_float")) {
    value = listed<float>(DType::kF32, std::vector<double>{c.f64("value_float", 0)}, true);
  } else if (c.has_attr("value_floats")) {
    value = listed<float>(DType::kF32, c.f64s("value_floats"), false);
  }
  BP_TRY(c.fault());
  if (value.is_null()) return unimplemented("it holds a sparse tensor");
  return c.set(0, c.emit.constant(std::move(value)));
}

// The scalar, broadcast: costs no memory whatever the shape.
Status constant_of_shape(NodeContext& c) {
  BP_TRY_ASSIGN(const std::vector<int64_t> shape, c.in_i64s(0));
  BP_TRY(element_count(shape).status());
  TensorId scalar = kNone;
  if (const HostTensor* value = c.tensor("value")) {
    if (value->elements() != 1) return invalid_argument(cat("value must have one element, found ", value->to_string()));
    BP_TRY_ASSIGN(const TensorId given, c.emit.constant(*value));
    BP_TRY_ASSIGN(scalar, c.emit.reshape(given, {}));
  } else {
    BP_TRY_ASSIGN(scalar, c.emit.scalar(DType::kF32, 0));
  }
  return c.set(0, c.emit.broadcast(scalar, shape));
}

Status shape(NodeContext& c) {
  const std::vector<int64_t> extents = c.emit.shape(c.in(0));
  const auto rank = static_cast<int64_t>(extents.size());
  const auto clamp = [rank](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = clamp(c.i64("start", 0));
  const int64_t end = std::max(start, clamp(c.i64("end", rank)));
  return c.set(0,
               c.emit.i64s(std::span(extents).subspan(static_cast<size_t>(start), static_cast<size_t>(end - start))));
}

Status size(NodeContext& c) {
  BP_TRY_ASSIGN(const int64_t count, element_count(c.emit.shape(c.in(0))));
  return c.set(0, c.emit.constant(HostTensor::of<int64_t>(DType::kI64, {}, std::span(&count, 1))));
}

// start + delta * (0, 1, ...), in the inputs' own type.
Status range(NodeContext& c) {
  const DType dtype = c.emit.dtype(c.in(0));
  BP_TRY_ASSIGN(const std::vector<double> start, c.in_f64s(0));
  BP_TRY_ASSIGN(const std::vector<double> limit, c.in_f64s(1));
  BP_TRY_ASSIGN(const std::vector<double> delta, c.in_f64s(2));
  if (start.size() != 1 || limit.size() != 1 || delta.size() != 1 || delta[0] == 0) {
    return invalid_argument("start, limit and delta must be scalars, and delta not 0");
  }
  const double count = std::max(0.0, std::ceil((limit[0] - start[0]) / delta[0]));
  if (!(count < 1e9)) return invalid_argument(cat("a range of ", count, " elements is too long"));
  BP_TRY(c.emit.claim(static_cast<int64_t>(count)));
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t at = 0; at < values.size(); ++at) values[at] = start[0] + static_cast<double>(at) * delta[0];
  BP_TRY_ASSIGN(const TensorId wide, c.emit.constant(listed<double>(DType::kF64, values, false)));
  return c.set(0, c.emit.op(Op::kCAST, {wide}, {{BP_ATTR_TO, static_cast<int64_t>(dtype)}}));
}

// One column per element that is not zero; only where the input is known.
Status non_zero(NodeContext& c) {
  BP_TRY_ASSIGN(const std::vector<double> values, c.in_f64s(0));
  const std::vector<int64_t> extents = c.emit.shape(c.in(0));
  const size_t rank = std::max<size_t>(extents.size(), 1);
  std::vector<std::vector<int64_t>> rows(rank);
  for (size_t at = 0; at < values.size(); ++at) {
    if (values[at] == 0) continue;
    auto rest = static_cast<int64_t>(at);
    for (size_t axis = rank; axis-- > 0;) {
      const int64_t extent = extents.empty() ? 1 : extents[axis];
      rows[axis].push_back(rest % extent);
      rest /= extent;
    }
  }
  std::vector<int64_t> flat;
  for (const std::vector<int64_t>& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  const auto found = static_cast<int64_t>(rows[0].size());
  return c.set(0, c.emit.constant(HostTensor::of<int64_t>(DType::kI64, {static_cast<int64_t>(rank), found},
                                                          std::span<const int64_t>(flat))));
}

// Slices along an axis (or all elements) of a known tensor.
struct Slices {
  std::vector<double> values;
  int64_t outer, extent, inner;
  double at(int64_t slice, int64_t element) const {
    return values[static_cast<size_t>((element / inner * extent + slice) * inner + element % inner)];
  }
  int64_t size() const { return outer * inner; }
  // As the elements stand: below 0, 0 or above.
  int compare(int64_t a, int64_t b) const {
    for (int64_t i = 0; i < size(); ++i)
      if (at(a, i) != at(b, i)) return at(a, i) < at(b, i) ? -1 : 1;
    return 0;
  }
};

struct Distinct {
  std::vector<int64_t> first, inverse, counts;  // by distinct slice, by slice, by distinct slice
};

// Distinct slices in ascending order, or in that of their first appearance.
Distinct distinct_slices(const Slices& x, bool sorted) {
  std::vector<int64_t> order(static_cast<size_t>(x.extent));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return x.compare(a, b) < 0; });
  std::vector<int64_t> firsts(order.size());  // of each slice, the first that equals it
  for (size_t at = 0; at < order.size(); ++at) {
    const bool repeats = at > 0 && x.compare(order[at - 1], order[at]) == 0;
    firsts[static_cast<size_t>(order[at])] = repeats ? firsts[static_cast<size_t>(order[at - 1])] : order[at];
  }
  Distinct made;
  for (const int64_t slice : order)
    if (firsts[static_cast<size_t>(slice)] == slice) made.first.push_back(slice);
  if (!sorted) std::sort(made.first.begin(), made.first.end());
  made.counts.resize(made.first.size());
  std::vector<int64_t> numbers(order.size());  // of the distinct slices, at their first appearance
  for (size_t at = 0; at < made.first.size(); ++at)
    numbers[static_cast<size_t>(made.first[at])] = static_cast<int64_t>(at);
  for (const int64_t first : firsts) {
    made.inverse.push_back(numbers[static_cast<size_t>(first)]);
    ++made.counts[static_cast<size_t>(made.inverse.back())];
  }
  return made;
}

// Only where the input is known: how many are distinct depends on it.
Status unique(NodeContext& c) {
  BP_TRY_ASSIGN(std::vector<double> values, c.in_f64s(0));
  const DType dtype = c.emit.dtype(c.in(0));
  if (dtype == DType::kI64 || dtype == DType::kU64) {
    if (std::any_of(values.begin(), values.end(), [](double value) { return std::fabs(value) >= 0x1p53; }))
      return unimplemented("its integers are beyond 2^53");
  }
  if (std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); }))
    return unimplemented("its input has NaN in it");
  std::vector<int64_t> shape = c.emit.shape(c.in(0));
  TensorId x = c.in(0);
  if (!c.has_attr("axis")) {
    shape = {static_cast<int64_t>(values.size())};
    BP_TRY_ASSIGN(x, c.emit.reshape(x, shape));
  }
  BP_TRY_ASSIGN(const int64_t axis, NodeContext::axis_of(c.i64("axis", 0), static_cast<int64_t>(shape.size())));
  const std::span<const int64_t> all(shape);
  BP_TRY_ASSIGN(const int64_t outer, element_count(all.first(static_cast<size_t>(axis))));
  BP_TRY_ASSIGN(const int64_t inner, element_count(all.subspan(static_cast<size_t>(axis) + 1)));
  const Slices slices{std::move(values), outer, shape[static_cast<size_t>(axis)], inner};
  const Distinct found = distinct_slices(slices, c.i64("sorted", 1) != 0);
  BP_TRY_ASSIGN(const TensorId first, c.emit.i64s(found.first));
  BP_TRY(c.set(0, c.emit.op(Op::kGATHER, {x, first}, {{BP_ATTR_AXIS, axis}})));
  BP_TRY(c.set(1, first));
  BP_TRY(c.set(2, c.emit.i64s(found.inverse)));
  return c.set(3, c.emit.i64s(found.counts));
}

Status eye_like(NodeContext& c) {
  const std::vector<int64_t> extents = c.emit.shape(c.in(0));
  if (extents.size() != 2) return invalid_argument(cat("the input must be a matrix, found ", shape_text(extents)));
  const int64_t type = c.i64("dtype", 0);
  const std::optional<DType> dtype = type ? dtype_of_onnx(type) : c.emit.dtype(c.in(0));
  if (!dtype) return unimplemented(cat("it makes ONNX element type ", type, ", which is not supported"));
  BP_TRY_ASSIGN(const int64_t elements, element_count(extents));
  BP_TRY(c.emit.claim(elements));
  BP_TRY_ASSIGN(HostTensor eye, HostTensor::zeros(DType::kU8, extents));
  const int64_t k = c.i64("k", 0);
  for (int64_t row = 0; row < extents[0]; ++row) {
    const int64_t column = row + k;
    if (column >= 0 && column < extents[1]) eye.mutable_data<uint8_t>()[row * extents[1] + column] = 1;
  }
  BP_TRY_ASSIGN(const TensorId made, c.emit.constant(std::move(eye)));
  return c.set(0, c.emit.op(Op::kCAST, {made}, {{BP_ATTR_TO, static_cast<int64_t>(*dtype)}}));
}

}  // namespace

std::span<const Lowering> constant_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Constant", 1, 0, constant}, {"ConstantOfShape", 9, 1, constant_of_shape},
      {"Shape", 1, 1, shape},       {"Size", 1, 1, size},
      {"Range", 11, 3, range},      {"NonZero", 9, 1, non_zero},
      {"EyeLike", 9, 1, eye_like},  {"Unique", 11, 1, unique},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
