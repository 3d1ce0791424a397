#include "kernels/recurrent_activation.hpp"

#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include <cctype>
#include <cmath>

namespace backplane_cpu {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

struct KnownActivation {
  const char* name;  // lower case
  ActivationKind kind;
  bool takes_alpha, takes_beta;
  double alpha, beta;  // defaults
};
constexpr KnownActivation kKnown[] = {
    {"relu", ActivationKind::kRelu, false, false, 0, 0},
    {"tanh", ActivationKind::kTanh, false, false, 0, 0},
    {"sigmoid", ActivationKind::kSigmoid, false, false, 0, 0},
    {"affine", ActivationKind::kAffine, true, true, 1, 0},
    {"leakyrelu", ActivationKind::kLeakyRelu, true, false, 0.01, 0},
    {"thresholdedrelu", ActivationKind::kThresholdedRelu, true, false, 1, 0},
    {"scaledtanh", ActivationKind::kScaledTanh, true, true, 1, 1},
    {"hardsigmoid", ActivationKind::kHardSigmoid, true, true, 0.2, 0.5},
    {"elu", ActivationKind::kElu, true, false, 1, 0},
    {"softsign", ActivationKind::kSoftsign, false, false, 0, 0},
    {"softplus", ActivationKind::kSoftplus, false, false, 0, 0},
};

// Applies a vector function to all values; the tail goes through a padded vector.
template <class T, class Function>
void apply_vectors(T* values, int64_t count, Function function) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(function(d, hn::LoadU(d, values + i)), d, values + i);
  if (i == count) return;
  alignas(64) T lanes[kLanes] = {};
  std::copy(values + i, values + count, lanes);
  hn::Store(function(d, hn::Load(d, lanes)), d, lanes);
  std::copy(lanes, lanes + (count - i), values + i);
}

template <class T>
T scalar_function(const Activation& a, T x) {
  const T alpha = static_cast<T>(a.alpha), beta = static_cast<T>(a.beta);
  switch (a.kind) {
    case ActivationKind::kRelu:
      return x < 0 ? T{0} : x;
    case ActivationKind::kAffine:
      return alpha * x + beta;
    case ActivationKind::kLeakyRelu:
      return x < 0 ? alpha * x : x;
    case ActivationKind::kThresholdedRelu:
      return x > alpha || x != x ? x : T{0};
    case ActivationKind::kScaledTanh:
      return alpha * std::tanh(beta * x);
    case ActivationKind::kHardSigmoid: {
      const T y = alpha * x + beta;
      return y < 0 ? T{0} : y > 1 ? T{1} : y;
    }
    case ActivationKind::kElu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case ActivationKind::kSoftsign:
      return x / (1 + std::abs(x));
    case ActivationKind::kSoftplus:
      return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
    case ActivationKind::kTanh:
      return std::tanh(x);
    case ActivationKind::kSigmoid:
      return 1 / (1 + std::exp(-x));
  }
  return x;
}

template <class T>
void apply_all(const Activation& a, T* values, int64_t count) {
  if (a.kind == ActivationKind::kSigmoid) {
    apply_vectors(values, count, [](auto d, auto v) {
      // e^88 and e^700 are finite in their types, and 1 / (1 + e^88) is 0 to within f32's precision.
      const auto low = hn::Set(d, static_cast<T>(sizeof(T) == 4 ? -88 : -700));
      const auto one = hn::Set(d, T{1});
      const auto safe = hn::IfThenElse(hn::Lt(v, low), low, v);
      return hn::IfThenElse(hn::IsNaN(v), v, hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(safe)))));
    });
  } else if (a.kind == ActivationKind::kTanh) {
    apply_vectors(values, count, [](auto d, auto v) { return hn::IfThenElse(hn::IsNaN(v), v, hn::Tanh(d, v)); });
  } else {
    for (int64_t i = 0; i < count; ++i) values[i] = scalar_function(a, values[i]);
  }
}

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names(1);
  for (const char c : text) {
    if (c == ',') {
      names.emplace_back();
    } else if (c != ' ') {
      names.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return names;
}

}  // namespace

void Activation::apply(float* values, int64_t count) const { apply_all(*this, values, count); }
void Activation::apply(double* values, int64_t count) const { apply_all(*this, values, count); }

std::vector<Activation> read_activations(const NodeView& node, std::string_view fallback, size_t count) {
  const std::string_view text = node.text(BP_ATTR_ACTIVATIONS, {});
  std::vector<std::string> names = split_names(text.empty() ? fallback : text);
  for (size_t i = 0; text.empty() && names.size() < count; ++i) names.push_back(names[i]);  // per direction
  if (names.size() != count)
    refuse_node(node,
                "activations names " + std::to_string(names.size()) + " functions, wanted " + std::to_string(count));
  const auto alphas = node.f64s(BP_ATTR_ACTIVATION_ALPHA), betas = node.f64s(BP_ATTR_ACTIVATION_BETA);
  size_t alpha_at = 0, beta_at = 0;
  std::vector<Activation> activations;
  for (const std::string& name : names) {
    const KnownActivation* known = nullptr;
    for (const KnownActivation& candidate : kKnown)
      if (name == candidate.name) known = &candidate;
    if (known == nullptr) refuse_node(node, "activation \"" + name + "\" is not known");
    Activation a{known->kind, known->alpha, known->beta};
    if (known->takes_alpha && alpha_at < alphas.size()) a.alpha = alphas[alpha_at++];
    if (known->takes_beta && beta_at < betas.size()) a.beta = betas[beta_at++];
    activations.push_back(a);
  }
  return activations;
}

}  // namespace backplane_cpu
