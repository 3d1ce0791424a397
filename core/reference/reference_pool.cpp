// max_pool and average_pool.
#include "call.hpp"
#include "values.hpp"
#include "window.hpp"

namespace backplane::reference {
namespace {

// An offset within a row-major volume as one within the same volume with its first axis innermost.
int64_t column_major(int64_t offset, const Extents& extents) {
  const int64_t w = offset % extents[2];
  const int64_t h = offset / extents[2] % extents[1];
  const int64_t d = offset / extents[2] / extents[1];
  // A leading extent of 1 stands for an axis that does not exist, and adds nothing.
  return d + extents[0] * (h + extents[1] * w);
}

template <class V>
Outputs max_pool(const Call& call) {
  const HostTensor& input = call.input(0);
  const Window window = Window::of(call, spatial(call.attrs.i64s(BP_ATTR_KERNEL_SHAPE), 0));
  const Extents bounds = spatial(input.shape(), 2);
  const Extents out = spatial(call.output().shape, 2);
  const bool by_columns = call.attrs.i64(BP_ATTR_STORAGE_ORDER, 0) != 0;
  const std::vector<V> x = load<V>(input);
  std::vector<V> y;
  std::vector<int64_t> indices;
  for (int64_t plane = 0; plane < input.shape()[0] * input.shape()[1]; ++plane) {
    const int64_t base = plane * volume(bounds);
    for_each_index(out, [&](const Extents& position) {
      V best = lowest<V>(input.dtype());
      int64_t at = -1;  // stays so only if the window holds nothing but padding
      for_each_tap(window, position, bounds, [&](int64_t offset, int64_t) {
        const V value = x[static_cast<size_t>(base + offset)];
        if (at >= 0 && !(value > best) && value == value) return;  // a NaN is taken
        if (at >= 0 && best != best) return;                       // and kept
        best = value;
        at = offset;
      });
      y.push_back(best);
      indices.push_back(at < 0 ? -1 : base + (by_columns ? column_major(at, bounds) : at));
    });
  }
  BP_TRY_ASSIGN(HostTensor values, store(call.output(), y));
  BP_TRY_ASSIGN(HostTensor places, store(call.outputs[1], indices));
  return std::vector<HostTensor>{std::move(values), std::move(places)};
}

// Taps of the window that lie in the padded tensor; ceil_mode may let the window reach beyond even that.
int64_t padded_taps(const Window& window, const Extents& position, const Extents& bounds) {
  int64_t count = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    int64_t inside = 0;
    for (int64_t tap = 0; tap < window.kernel[axis]; ++tap)
      inside += window.place(axis, position[axis], tap) < bounds[axis] + window.end[axis];
    count *= inside;
  }
  return count;
}

Outputs average_pool(const Call& call) {
  const HostTensor& input = call.input(0);
  const Window window = Window::of(call, spatial(call.attrs.i64s(BP_ATTR_KERNEL_SHAPE), 0));
  const Extents bounds = spatial(input.shape(), 2);
  const Extents out = spatial(call.output().shape, 2);
  const bool count_padding = call.attrs.i64(BP_ATTR_COUNT_INCLUDE_PAD, 0) != 0;
  const std::vector<double> x = load<double>(input);
  std::vector<double> y;
  for (int64_t plane = 0; plane < input.shape()[0] * input.shape()[1]; ++plane) {
    const double* values = x.data() + plane * volume(bounds);
    for_each_index(out, [&](const Extents& position) {
      double sum = 0;
      int64_t count = 0;
      for_each_tap(window, position, bounds, [&](int64_t offset, int64_t) {
        sum += values[offset];
        ++count;
      });
      if (count_padding) count = padded_taps(window, position, bounds);
      y.push_back(sum / static_cast<double>(count));
    });
  }
  return single(store(call.output(), y));
}

}  // namespace

Outputs pooling(const Call& call) {
  if (call.op == Op::kAVERAGE_POOL) return average_pool(call);
  return with_domain(call.input(0).dtype(), [&](auto domain) { return max_pool<decltype(domain)>(call); });
}

}  // namespace backplane::reference
