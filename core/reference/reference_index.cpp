// Ops that select and place elements and rows by index, cum_sum, top_k and sort.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "backplane/base/text.hpp"
#include "call.hpp"
#include "iteration.hpp"
#include "values.hpp"

namespace backplane::reference {
namespace {

// `index` within [0, extent): negative ones count from the end.
Result<int64_t> place(const Call& call, int64_t index, int64_t extent, int64_t axis) {
  if (index >= -extent && index < extent) return index < 0 ? index + extent : index;
  return out_of_range(cat(op_name(call.op), ": index ", index, " is outside axis ", axis, " of input 0 ",
                          call.input(0).to_string(), "; indices must be in [", -extent, ", ", extent, ")"));
}

// For every element of the indices, the element of input 0 that it stands for.
Result<std::vector<int64_t>> element_places(const Call& call) {
  const Shape& shape = call.input(0).shape();
  const int64_t axis = call.attrs.i64(BP_ATTR_AXIS, 0);
  Shape strides = element_strides(shape);
  const int64_t along = std::exchange(strides[static_cast<size_t>(axis)], 0);
  std::vector<int64_t> places = load<int64_t>(call.input(1));
  for (int64_t& index : places) {
    BP_TRY_ASSIGN(index, place(call, index, shape[static_cast<size_t>(axis)], axis));
  }
  auto next = places.begin();
  walk(call.input(1).shape(), std::array{strides}, [&](const std::array<int64_t, 1>& at) {
    *next = *next * along + at[0];
    ++next;
  });
  return places;
}

// For every tuple of the indices, the first element of the block of input 0 that it stands for.
Result<std::vector<int64_t>> tuple_places(const Call& call, int64_t batch_dims) {
  const Shape& shape = call.input(0).shape();
  const Shape& tuples = call.input(1).shape();
  const Shape strides = element_strides(shape);
  const std::vector<int64_t> indices = load<int64_t>(call.input(1));
  const int64_t length = tuples.back();
  const auto count = static_cast<int64_t>(indices.size()) / length;
  const int64_t batches = product(std::span(tuples).first(static_cast<size_t>(batch_dims)));
  const int64_t batch_size = product(std::span(shape).subspan(static_cast<size_t>(batch_dims)));
  std::vector<int64_t> places;
  for (int64_t tuple = 0; tuple < count; ++tuple) {
    int64_t at = tuple / (count / batches) * batch_size;
    for (int64_t i = 0; i < length; ++i) {
      const auto axis = static_cast<size_t>(batch_dims + i);
      BP_TRY_ASSIGN(const int64_t index, place(call, indices[tuple * length + i], shape[axis], batch_dims + i));
      at += index * strides[axis];
    }
    places.push_back(at);
  }
  return places;
}

// Blocks of `length` elements of input 0, one after another.
Outputs gather_blocks(const Call& call, const std::vector<int64_t>& places, int64_t length) {
  BP_TRY_ASSIGN(HostTensor y, HostTensor::zeros(call.output().dtype, call.output().shape));
  const size_t width = type_layout(y.dtype()).block_bytes;
  const size_t bytes = static_cast<size_t>(length) * width;
  std::byte* to = y.mutable_bytes().data();
  for (const int64_t from : places) {
    std::memcpy(to, call.input(0).bytes().data() + static_cast<size_t>(from) * width, bytes);
    to += bytes;
  }
  return single(std::move(y));
}

// Rounded as an element of `dtype` holds it.
template <class V>
Result<V> rounded(DType dtype, V value) {
  BP_TRY_ASSIGN(const HostTensor narrow, store(TensorSpec{dtype, {}}, std::vector<V>{value}));
  return load<V>(narrow)[0];
}

template <class V>
V combined(const std::string& reduction, V a, V b) {
  if (reduction == "add") return add(a, b);
  if (reduction == "mul") return multiply(a, b);
  if (reduction == "min") return minimum(a, b);
  return reduction == "max" ? maximum(a, b) : b;
}

// Updates are applied one after another, each result being rounded to the type.
Outputs scatter_blocks(const Call& call, const std::vector<int64_t>& places, int64_t length) {
  return with_domain(call.output().dtype, [&](auto domain) -> Outputs {
    using V = decltype(domain);
    const std::string reduction = call.attrs.text(BP_ATTR_REDUCTION, "none");
    std::vector<V> y = load<V>(call.input(0));
    const std::vector<V> updates = load<V>(call.input(2));
    for (size_t i = 0; i < updates.size(); ++i) {
      V& target = y[static_cast<size_t>(places[i / static_cast<size_t>(length)]) + i % static_cast<size_t>(length)];
      BP_TRY_ASSIGN(target, rounded(call.output().dtype, combined(reduction, target, updates[i])));
    }
    return single(store(call.output(), y));
  });
}

template <class V>
Outputs cum_sum(const Call& call) {
  const AxisSplit split = split_at(call.input(0).shape(), call.attrs.i64(BP_ATTR_AXIS, 0));
  const bool exclusive = call.attrs.i64(BP_ATTR_EXCLUSIVE, 0) != 0;
  const bool reverse = call.attrs.i64(BP_ATTR_REVERSE, 0) != 0;
  std::vector<V> y = load<V>(call.input(0));
  for (int64_t line = 0; line < split.outer * split.inner && !y.empty(); ++line) {
    V sum = 0;
    for (int64_t i = 0; i < split.extent; ++i) {
      const int64_t at = reverse ? split.extent - 1 - i : i;
      V& value = y[static_cast<size_t>((line / split.inner * split.extent + at) * split.inner + line % split.inner)];
      const V next = add(sum, value);
      value = exclusive ? sum : next;
      sum = next;
    }
  }
  return single(store(call.output(), y));
}

// Whether a stands before b. NaN stands before everything, or behind.
template <class V>
bool stands_before(V a, V b, bool largest, bool nan_first) {
  if constexpr (std::is_floating_point_v<V>)
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) != std::isnan(b) && std::isnan(a) == nan_first;
  return largest ? a > b : a < b;
}

// The first elements of each line along an axis, as many as the output has, in an order.
template <class V>
Outputs ordered(const Call& call, bool largest, bool nan_first) {
  const Shape& shape = call.input(0).shape();
  const int64_t axis = call.attrs.i64(BP_ATTR_AXIS, static_cast<int64_t>(shape.size()) - 1);
  const AxisSplit split = split_at(shape, axis);
  const int64_t k = call.output().shape[static_cast<size_t>(axis)];
  const std::vector<V> x = load<V>(call.input(0));
  std::vector<V> values(static_cast<size_t>(product(call.output().shape)));
  std::vector<int64_t> indices(values.size());
  std::vector<int64_t> order(static_cast<size_t>(split.extent));
  for (int64_t line = 0; line < split.outer * split.inner && !values.empty(); ++line) {
    const int64_t outer = line / split.inner, inner = line % split.inner;
    const auto at = [&](int64_t i) { return x[static_cast<size_t>((outer * split.extent + i) * split.inner + inner)]; };
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return stands_before(at(a), at(b), largest, nan_first); });
    for (int64_t i = 0; i < k; ++i) {
      const auto to = static_cast<size_t>((outer * k + i) * split.inner + inner);
      indices[to] = order[static_cast<size_t>(i)];
      values[to] = at(indices[to]);
    }
  }
  BP_TRY_ASSIGN(HostTensor first, store(call.output(), values));
  BP_TRY_ASSIGN(HostTensor second, store(call.outputs[1], indices));
  return std::vector<HostTensor>{std::move(first), std::move(second)};
}

template <class V>
Outputs top_k(const Call& call) {
  return ordered<V>(call, call.attrs.i64(BP_ATTR_LARGEST, 1) != 0, true);
}

template <class V>
Outputs sort(const Call& call) {
  const bool descending = call.attrs.i64(BP_ATTR_DESCENDING, 0) != 0;
  return ordered<V>(call, descending, descending);
}

int64_t block_length(const Call& call, int64_t batch_dims) {
  const auto first = static_cast<size_t>(batch_dims + call.input(1).shape().back());
  return product(std::span(call.input(0).shape()).subspan(first));
}

}  // namespace

Outputs set_rows(const Call& call) {
  const HostTensor& x = call.input(0);
  HostTensor rows = call.input(1);
  if (rows.dtype() != x.dtype()) {
    BP_TRY_ASSIGN(rows, store(TensorSpec{x.dtype(), rows.shape()}, load<double>(rows)));
  }
  BP_TRY_ASSIGN(HostTensor y, HostTensor::zeros(x.dtype(), x.shape()));
  std::copy(x.bytes().begin(), x.bytes().end(), y.mutable_bytes().begin());
  const size_t axis = x.shape().size() - 2;
  const int64_t extent = x.shape()[axis], count = rows.shape()[axis];
  const Shape per_row(rows.shape().begin(), rows.shape().end() - 1);
  if (rows.bytes().empty()) return single(std::move(y));  // no index is looked at
  const size_t width = rows.bytes().size() / static_cast<size_t>(product(per_row));
  const std::vector<int64_t> indices = load<int64_t>(call.input(2));
  const std::byte* from = rows.bytes().data();
  Status status;
  int64_t row = 0;
  walk(per_row, std::array{broadcast_strides(call.input(2).shape(), per_row)}, [&](const std::array<int64_t, 1>& at) {
    const auto to = place(call, indices[static_cast<size_t>(at[0])], extent, static_cast<int64_t>(axis));
    if (!to.ok()) {
      status = to.status();
    } else {
      std::memcpy(y.mutable_bytes().data() + static_cast<size_t>(row / count * extent + *to) * width, from, width);
    }
    from += width;
    ++row;
  });
  BP_TRY(status);
  return single(std::move(y));
}

Outputs indexing(const Call& call) {
  const bool tuples = call.op == Op::kGATHER_ND || call.op == Op::kSCATTER_ND;
  const bool gathers = call.op == Op::kGATHER_ND || call.op == Op::kGATHER_ELEMENTS;
  // Without elements to move, no index is looked at.
  const bool moves = product(gathers ? call.output().shape : call.input(2).shape()) > 0;
  const int64_t batch_dims = call.attrs.i64(BP_ATTR_BATCH_DIMS, 0);
  std::vector<int64_t> places;
  if (moves) {
    BP_TRY_ASSIGN(places, tuples ? tuple_places(call, batch_dims) : element_places(call));
  }
  const int64_t length = tuples ? block_length(call, batch_dims) : 1;
  return gathers ? gather_blocks(call, places, length) : scatter_blocks(call, places, length);
}

Outputs ordering(const Call& call) {
  return with_domain(call.input(0).dtype(), [&](auto domain) {
    using V = decltype(domain);
    if (call.op == Op::kCUM_SUM) return cum_sum<V>(call);
    return call.op == Op::kTOP_K ? top_k<V>(call) : sort<V>(call);
  });
}

}  // namespace backplane::reference
