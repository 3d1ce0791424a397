// Sampling planes at computed places: each tap is a gather from flattened planes, times a weight, and the taps' values
// are added up. Thread safety: as the formula.
#pragma once

#include <array>

#include "lowering/formula.hpp"

namespace backplane::onnx_import {

// [N, C, H, W] with planes in a row; P places in each image are [N, 1, P].
struct Planes {
  TensorId flat = kNone;  // [N, C, H * W]
  int64_t channels = 0, height = 0, width = 0;
};

Planes planes_of(Formula& f, TensorId x);

// The elements at whole-numbered coordinates that lie inside, [N, C, P].
TensorId elements_at(Formula& f, const Planes& planes, TensorId y, TensorId x);

enum class Padding { zeros, border, reflection };

// Coordinates y and x count elements, and may lie anywhere.
struct Sampler {
  Formula& f;
  Planes planes;
  Padding padding;
  bool align_corners;

  // From [-1, 1] to elements: the corners are the centres of the outer elements, or their outer edges.
  TensorId unnormalized(TensorId x, int64_t extent);
  TensorId nearest(TensorId y, TensorId x);
  TensorId linear(TensorId y, TensorId x);
  TensorId cubic(TensorId y, TensorId x);

 private:
  TensorId reflected(TensorId x, int64_t extent);
  TensorId padded(TensorId x, int64_t extent);
  TensorId inside(TensorId x, int64_t extent);
  TensorId tap(TensorId y, TensorId x);
  std::array<TensorId, 4> cubic_weights(TensorId t);
};

}  // namespace backplane::onnx_import
