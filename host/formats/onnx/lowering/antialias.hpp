// Antialias: resizing by a filter as wide as what an output element stands for, so that nothing of the input is
// skipped where it shrinks. Every axis is a product with a matrix of weights, which is known at import.
// Source: ONNX Resize, versions 18 and 19. Thread safety: as the context.
#pragma once

#include <string>
#include <vector>

#include "node_context.hpp"

namespace backplane::onnx_import {

struct AntialiasedResize {
  std::vector<int64_t> sizes;  // of the output, an entry for each axis, as of scales
  std::vector<double> scales;
  std::string coordinates;  // the mode by which coordinates are mapped
  bool is_cubic;            // else linear
  double cubic_a;
  bool excludes_outside;    // weights of elements beyond the ends go to the others, instead of to the end's element
  std::vector<double> roi;  // of tf_crop_and_resize: begins, then ends, as parts of the axes
  double outside;           // the value of elements that tf_crop_and_resize takes from outside
};

// Errors: invalid_argument for a mode that is not known; unimplemented for integers, whose rounding ONNX leaves open.
Result<TensorId> resize_antialiased(NodeContext& c, TensorId x, const AntialiasedResize& how);

}  // namespace backplane::onnx_import
