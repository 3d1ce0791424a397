#include "lowering/sampler.hpp"

namespace backplane::onnx_import {

using Shape = std::vector<int64_t>;

Planes planes_of(Formula& f, TensorId x) {
  const Shape shape = f.shape(x);
  if (shape.size() != 4) return {};
  return {f.reshape(x, {shape[0], shape[1], shape[2] * shape[3]}), shape[1], shape[2], shape[3]};
}

TensorId elements_at(Formula& f, const Planes& planes, TensorId y, TensorId x) {
  const TensorId row = f.mul(f.cast(y, DType::kI64), static_cast<double>(planes.width));
  const TensorId place = f.add(row, f.cast(x, DType::kI64));
  Shape shape = f.shape(place);
  if (shape.size() == 3) shape[1] = planes.channels;
  return f.op(Op::kGATHER_ELEMENTS, {planes.flat, f.broadcast(place, shape)}, {{BP_ATTR_AXIS, int64_t{2}}});
}

TensorId Sampler::unnormalized(TensorId x, int64_t extent) {
  const auto size = static_cast<double>(extent);
  if (align_corners) return f.mul(f.add(x, 1.0), (size - 1) / 2);
  return f.mul(f.add(f.mul(f.add(x, 1.0), size), -1.0), 0.5);
}

// Mirrors at the centres of the outer elements, or at their outer edges, as often as it takes.
TensorId Sampler::reflected(TensorId x, int64_t extent) {
  const double low = align_corners ? 0 : -0.5;
  const double span = static_cast<double>(align_corners ? extent - 1 : extent);
  if (span <= 0) return f.mul(x, 0.0);
  const TensorId distance = f.op(Op::kABS, {f.add(x, -low)});
  const TensorId rest = f.op(Op::kMOD, {distance, f.like(x, span)}, {{BP_ATTR_FMOD, int64_t{1}}});
  const TensorId turns = f.op(Op::kFLOOR, {f.mul(distance, 1 / span)});
  const TensorId odd = f.op(Op::kMOD, {turns, f.like(x, 2)}, {{BP_ATTR_FMOD, int64_t{1}}});
  const TensorId there = f.add(rest, low), back = f.sub(f.like(x, span + low), rest);
  return f.op(Op::kWHERE, {f.compare(Op::kEQ, odd, 0), there, back});
}

TensorId Sampler::padded(TensorId x, int64_t extent) {
  if (padding == Padding::zeros) return x;
  if (padding == Padding::reflection) x = reflected(x, extent);
  return f.clip(x, 0, static_cast<double>(extent - 1));
}

// 1 where a coordinate lies inside, else 0.
TensorId Sampler::inside(TensorId x, int64_t extent) {
  const TensorId within =
      f.op(Op::kAND, {f.compare(Op::kGE, x, 0), f.compare(Op::kLE, x, static_cast<double>(extent - 1))});
  return f.op(Op::kWHERE, {within, f.like(x, 1), f.like(x, 0)});
}

// What stands at whole-numbered coordinates; 0 outside.
TensorId Sampler::tap(TensorId y, TensorId x) {
  const TensorId kept = f.mul(inside(y, planes.height), inside(x, planes.width));
  const TensorId row = f.clip(y, 0, static_cast<double>(planes.height - 1));
  const TensorId column = f.clip(x, 0, static_cast<double>(planes.width - 1));
  return f.mul(elements_at(f, planes, row, column), kept);
}

TensorId Sampler::nearest(TensorId y, TensorId x) {
  return tap(f.op(Op::kROUND, {padded(y, planes.height)}), f.op(Op::kROUND, {padded(x, planes.width)}));
}

TensorId Sampler::linear(TensorId y, TensorId x) {
  y = padded(y, planes.height);
  x = padded(x, planes.width);
  const TensorId top = f.op(Op::kFLOOR, {y}), left = f.op(Op::kFLOOR, {x});
  const TensorId down = f.sub(y, top), right = f.sub(x, left);
  const TensorId up = f.sub(f.like(y, 1), down), before = f.sub(f.like(x, 1), right);
  const TensorId bottom = f.add(top, 1.0), after = f.add(left, 1.0);
  const TensorId upper = f.add(f.mul(tap(top, left), f.mul(up, before)), f.mul(tap(top, after), f.mul(up, right)));
  const TensorId lower =
      f.add(f.mul(tap(bottom, left), f.mul(down, before)), f.mul(tap(bottom, after), f.mul(down, right)));
  return f.add(upper, lower);
}

// Weights of the four neighbours of a fraction t (Keys' kernel with a = -0.75).
std::array<TensorId, 4> Sampler::cubic_weights(TensorId t) {
  constexpr double a = -0.75;
  const auto outer = [&](TensorId d) {  // ((d * a - 5a) * d + 8a) * d - 4a
    return f.add(f.mul(f.add(f.mul(f.add(f.mul(d, a), -5 * a), d), 8 * a), d), -4 * a);
  };
  const auto inner = [&](TensorId d) {  // ((a + 2) * d - (a + 3)) * d^2 + 1
    return f.add(f.mul(f.mul(f.add(f.mul(d, a + 2), -(a + 3)), d), d), 1.0);
  };
  const TensorId rest = f.sub(f.like(t, 1), t);
  return {outer(f.add(t, 1.0)), inner(t), inner(rest), outer(f.add(rest, 1.0))};
}

// Padding applies to each tap: a coordinate between elements of both sides of an edge has taps on both.
TensorId Sampler::cubic(TensorId y, TensorId x) {
  const TensorId top = f.op(Op::kFLOOR, {y}), left = f.op(Op::kFLOOR, {x});
  const std::array<TensorId, 4> rows = cubic_weights(f.sub(y, top)), columns = cubic_weights(f.sub(x, left));
  TensorId total = kNone;
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 4; ++j) {
      const TensorId value = tap(padded(f.add(top, static_cast<double>(i) - 1), planes.height),
                                 padded(f.add(left, static_cast<double>(j) - 1), planes.width));
      const TensorId part = f.mul(value, f.mul(rows[i], columns[j]));
      total = i + j == 0 ? part : f.add(total, part);
    }
  return total;
}

}  // namespace backplane::onnx_import
