// conv, conv_transpose, conv_integer and im2col.
#include <cstring>

#include "call.hpp"
#include "values.hpp"
#include "window.hpp"

namespace backplane::reference {
namespace {

std::vector<double> operand(const Call& call, size_t at) {
  if (call.op != Op::kCONV_INTEGER) return load<double>(call.input(at));
  const std::vector<int64_t> integers = without_zero_point(call, at);
  return {integers.begin(), integers.end()};
}

// The numbers the ops share. For conv, `in` channels of one group make `out` channels of one group.
struct Problem {
  Window window;
  Extents x_extents, y_extents;
  int64_t batch, groups, in, out;
  std::vector<double> x, w, y;

  explicit Problem(const Call& call)
      : window(Window::of(call, spatial(call.input(1).shape(), 2))),
        x_extents(spatial(call.input(0).shape(), 2)),
        y_extents(spatial(call.output().shape, 2)),
        batch(call.output().shape[0]),
        groups(call.attrs.i64(BP_ATTR_GROUP, 1)),
        in(call.input(0).shape()[1] / groups),
        out(call.output().shape[1] / groups),
        x(operand(call, 0)),
        w(operand(call, 1)),
        y(static_cast<size_t>(product(call.output().shape))) {
    if (!call.has(2) || call.op == Op::kCONV_INTEGER) return;
    const std::vector<double> bias = load<double>(call.input(2));
    for (size_t i = 0; i < y.size(); ++i) y[i] = bias[(i / static_cast<size_t>(volume(y_extents))) % bias.size()];
  }

  const double* x_plane(int64_t n, int64_t channel) const {
    return x.data() + (n * in * groups + channel) * volume(x_extents);
  }
  double* y_plane(int64_t n, int64_t channel) { return y.data() + (n * out * groups + channel) * volume(y_extents); }
};

// One input channel's part in one output channel.
void correlate(const Problem& p, const double* x, const double* kernel, double* y) {
  for_each_index(p.y_extents, [&](const Extents& position) {
    for_each_tap(p.window, position, p.x_extents, [&](int64_t from, int64_t tap) { *y += x[from] * kernel[tap]; });
    ++y;
  });
}

void scatter(const Problem& p, const double* x, const double* kernel, double* y) {
  for_each_index(p.x_extents, [&](const Extents& position) {
    for_each_tap(p.window, position, p.y_extents, [&](int64_t to, int64_t tap) { y[to] += *x * kernel[tap]; });
    ++x;
  });
}

}  // namespace

Outputs convolution(const Call& call) {
  Problem p(call);
  const bool transposed = call.op == Op::kCONV_TRANSPOSE;
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t group = 0; group < p.groups; ++group)
      for (int64_t out = 0; out < p.out; ++out)
        for (int64_t in = 0; in < p.in; ++in) {
          const int64_t to = group * p.out + out;
          const int64_t from = group * p.in + in;
          const int64_t kernel = transposed ? from * p.out + out : to * p.in + in;
          const double* taps = p.w.data() + kernel * volume(p.window.kernel);
          (transposed ? scatter : correlate)(p, p.x_plane(n, from), taps, p.y_plane(n, to));
        }
  if (call.op != Op::kCONV_INTEGER) return single(store(call.output(), p.y));
  return single(store(call.output(), std::vector<int64_t>(p.y.begin(), p.y.end())));  // wraps
}

// Bytes are moved: elements of any type are the same to it.
Outputs im2col(const Call& call) {
  const HostTensor& x = call.input(0);
  const Window window = Window::of(call, spatial(call.attrs.i64s(BP_ATTR_KERNEL_SHAPE), 0));
  const Extents bounds = spatial(x.shape(), 2);
  const int64_t taps = volume(window.kernel), places = call.output().shape[2];
  const size_t width = type_layout(x.dtype()).block_bytes;
  BP_TRY_ASSIGN(HostTensor y, HostTensor::zeros(x.dtype(), call.output().shape));
  if (places == 0) return single(std::move(y));
  Extents out{};
  for (size_t axis = 0; axis < 3; ++axis)
    out[axis] =
        (bounds[axis] + window.begin[axis] + window.end[axis] - window.dilation[axis] * (window.kernel[axis] - 1) - 1) /
            window.stride[axis] +
        1;
  for (int64_t plane = 0; plane < x.shape()[0] * x.shape()[1]; ++plane) {
    int64_t column = 0;
    for_each_index(out, [&](const Extents& position) {
      for_each_tap(window, position, bounds, [&](int64_t from, int64_t tap) {
        std::memcpy(y.mutable_bytes().data() + static_cast<size_t>((plane * taps + tap) * places + column) * width,
                    x.bytes().data() + static_cast<size_t>(plane * volume(bounds) + from) * width, width);
      });
      ++column;
    });
  }
  return single(std::move(y));
}

}  // namespace backplane::reference
