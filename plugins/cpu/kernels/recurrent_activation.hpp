// Activation: the activation functions that ONNX's recurrent ops can name. Thread safety: values.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/operand.hpp"

namespace backplane_cpu {

enum class ActivationKind {
  kRelu,
  kTanh,
  kSigmoid,
  kAffine,
  kLeakyRelu,
  kThresholdedRelu,
  kScaledTanh,
  kHardSigmoid,
  kElu,
  kSoftsign,
  kSoftplus
};

struct Activation {
  ActivationKind kind = ActivationKind::kTanh;
  double alpha = 0, beta = 0;

  // Replaces every value by its function.
  void apply(float* values, int64_t count) const;
  void apply(double* values, int64_t count) const;
};

// The attribute `activations` (comma-separated), or `fallback`, as `count` functions. activation_alpha and
// activation_beta are consumed in order by the functions that take them; where they end, ONNX's defaults hold.
std::vector<Activation> read_activations(const NodeView& node, std::string_view fallback, size_t count);

}  // namespace backplane_cpu
