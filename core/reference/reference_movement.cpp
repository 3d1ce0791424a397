// copy, cast, concat, pad, tile, gather, reverse. All but cast move bytes, in time linear in the output.
#include <algorithm>
#include <cstring>
#include <string>

#include "backplane/base/text.hpp"
#include "call.hpp"
#include "iteration.hpp"
#include "take.hpp"
#include "values.hpp"

namespace backplane::reference {
namespace {

Outputs cast(const Call& call) {
  if (call.output().dtype == call.input(0).dtype()) return single(call.input(0));
  if (!is_plain(call.input(0).dtype())) return single(store(call.output(), load<double>(call.input(0))));
  return with_domain(call.input(0).dtype(),
                     [&](auto domain) { return single(store(call.output(), load<decltype(domain)>(call.input(0)))); });
}

Outputs concat(const Call& call) {
  BP_TRY_ASSIGN(HostTensor y, HostTensor::zeros(call.output().dtype, call.output().shape));
  const size_t width = type_layout(y.dtype()).block_bytes;
  const AxisSplit whole = split_at(y.shape(), call.attrs.i64(BP_ATTR_AXIS, 0));
  const size_t row_bytes = static_cast<size_t>(whole.extent * whole.inner) * width;
  size_t column = 0;
  for (const HostTensor& x : call.given) {
    if (x.elements() == 0) continue;
    const size_t part_bytes = static_cast<size_t>(x.elements() / whole.outer) * width;
    for (size_t row = 0; row < static_cast<size_t>(whole.outer); ++row)
      std::memcpy(y.mutable_bytes().data() + row * row_bytes + column, x.bytes().data() + row * part_bytes, part_bytes);
    column += part_bytes;
  }
  return single(std::move(y));
}

// Where padding takes element `at` of an axis from; `at` counts from the first element of x.
int64_t padding_source(int64_t at, int64_t extent, const std::string& mode) {
  if (at >= 0 && at < extent) return at;
  if (mode == "edge") return at < 0 ? 0 : extent - 1;
  if (mode == "wrap") return (at % extent + extent) % extent;
  if (mode != "reflect") return kOutside;
  if (extent == 1) return 0;
  const int64_t period = 2 * (extent - 1);
  const int64_t phase = (at % period + period) % period;
  return phase < extent ? phase : period - phase;
}

Outputs pad(const Call& call) {
  const HostTensor& x = call.input(0);
  const std::string mode = call.attrs.text(BP_ATTR_MODE, "constant");
  const std::vector<int64_t> pads = call.attrs.i64s(BP_ATTR_PADS);
  const std::vector<std::byte> zero(type_layout(x.dtype()).block_bytes);
  std::vector<AxisSources> sources(x.shape().size());
  for (size_t axis = 0; axis < sources.size(); ++axis) {
    const int64_t extent = x.shape()[axis];
    const int64_t padded = call.output().shape[axis];
    for (int64_t i = 0; i < padded; ++i) sources[axis].push_back(padding_source(i - pads[axis], extent, mode));
  }
  return single(take(x, sources, call.has(1) ? call.input(1).bytes() : std::span<const std::byte>(zero)));
}

Outputs tile(const Call& call) {
  const HostTensor& x = call.input(0);
  std::vector<AxisSources> sources(x.shape().size());
  for (size_t axis = 0; axis < sources.size(); ++axis)
    for (int64_t i = 0; i < call.output().shape[axis]; ++i) sources[axis].push_back(i % x.shape()[axis]);
  return single(take(x, sources, {}));
}

Outputs reverse(const Call& call) {
  const HostTensor& x = call.input(0);
  std::vector<AxisSources> sources(x.shape().size());
  for (size_t axis = 0; axis < sources.size(); ++axis)
    for (int64_t i = 0; i < x.shape()[axis]; ++i) sources[axis].push_back(i);
  for (const int64_t axis : call.attrs.i64s(BP_ATTR_AXES)) {
    AxisSources& source = sources[static_cast<size_t>(axis)];
    std::reverse(source.begin(), source.end());
  }
  return single(take(x, sources, {}));
}

Outputs gather(const Call& call) {
  const HostTensor& x = call.input(0);
  const int64_t axis = call.attrs.i64(BP_ATTR_AXIS, 0);
  const AxisSplit split = split_at(x.shape(), axis);
  if (product(call.output().shape) == 0) return single(HostTensor::zeros(call.output().dtype, call.output().shape));
  std::vector<int64_t> indices = load<int64_t>(call.input(1));
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < -split.extent || indices[i] >= split.extent)
      return out_of_range(cat("gather: index ", indices[i], " at element ", i, " of the indices is outside axis ", axis,
                              " of input 0 ", x.to_string(), "; indices must be in [", -split.extent, ", ",
                              split.extent, ")"));
    if (indices[i] < 0) indices[i] += split.extent;
  }
  BP_TRY_ASSIGN(HostTensor y, HostTensor::zeros(call.output().dtype, call.output().shape));
  const TypeLayout layout = type_layout(x.dtype());
  const int64_t block_bytes = split.inner / layout.block_elements * layout.block_bytes;
  std::byte* to = y.mutable_bytes().data();
  for (int64_t outer = 0; outer < split.outer; ++outer)
    for (const int64_t index : indices) {
      const int64_t block = outer * split.extent + index;
      std::memcpy(to, x.bytes().data() + block * block_bytes, static_cast<size_t>(block_bytes));
      to += block_bytes;
    }
  return single(std::move(y));
}

}  // namespace

Result<HostTensor> take(const HostTensor& x, std::span<const AxisSources> sources, std::span<const std::byte> fill) {
  Shape shape;
  for (const AxisSources& source : sources) shape.push_back(static_cast<int64_t>(source.size()));
  BP_TRY_ASSIGN(HostTensor y, HostTensor::zeros(x.dtype(), shape));
  const Shape strides = element_strides(x.shape());
  const size_t width = type_layout(x.dtype()).block_bytes;
  std::byte* to = y.mutable_bytes().data();
  std::vector<size_t> index(shape.size());
  for (int64_t left = y.elements(); left > 0; --left) {
    int64_t from = 0;
    bool outside = false;
    for (size_t axis = 0; axis < index.size(); ++axis) {
      const int64_t source = sources[axis][index[axis]];
      outside = outside || source == kOutside;
      from += source * strides[axis];
    }
    std::memcpy(to, outside ? fill.data() : x.bytes().data() + static_cast<size_t>(from) * width, width);
    to += width;
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < sources[axis].size()) break;
      index[axis] = 0;
    }
  }
  return y;
}

Outputs movement(const Call& call) {
  switch (call.op) {
    case Op::kCOPY:
      return std::vector<HostTensor>{call.input(0)};
    case Op::kCAST:
      return cast(call);
    case Op::kCONCAT:
      return concat(call);
    case Op::kPAD:
      return pad(call);
    case Op::kTILE:
      return tile(call);
    case Op::kGATHER:
      return gather(call);
    case Op::kGATHER_ELEMENTS:
    case Op::kGATHER_ND:
    case Op::kSCATTER_ELEMENTS:
    case Op::kSCATTER_ND:
      return indexing(call);
    case Op::kSET_ROWS:
      return set_rows(call);
    case Op::kREVERSE:
      return reverse(call);
    case Op::kRESIZE:
      return resize(call);
    default:
      return no_definition(call.op);
  }
}

}  // namespace backplane::reference
