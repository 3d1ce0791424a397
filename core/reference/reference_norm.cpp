// Normalisations, and softmax with its relatives.
#include <numeric>

#include "call.hpp"
#include "iteration.hpp"
#include "values.hpp"

namespace backplane::reference {
namespace {

double epsilon_of(const Call& call) { return call.attrs.f64(BP_ATTR_EPSILON, 1e-5); }

Outputs batch_norm(const Call& call) {
  std::vector<double> x = load<double>(call.input(0));
  std::array<std::vector<double>, 4> statistics;  // scale, bias, mean, variance
  for (size_t i = 0; i < 4; ++i) statistics[i] = load<double>(call.input(i + 1));
  const auto& [scales, bias, mean, variance] = statistics;
  const AxisSplit split = split_at(call.input(0).shape(), 1);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i / static_cast<size_t>(split.inner) % scales.size();
    x[i] = (x[i] - mean[c]) / std::sqrt(variance[c] + epsilon_of(call)) * scales[c] + bias[c];
  }
  return single(store(call.output(), x));
}

// Brings consecutive runs of `length` elements to mean 0 (if `center`) and mean square 1.
void normalize(std::span<double> x, size_t length, double epsilon, bool center) {
  for (; !x.empty(); x = x.subspan(length)) {
    const std::span<double> run = x.first(length);
    const auto count = static_cast<double>(length);
    double mean = 0;
    if (center) {
      mean = std::accumulate(run.begin(), run.end(), 0.0) / count;
      for (double& value : run) value -= mean;
      // What rounding left of the mean is all that there is to see of a run that is nearly constant.
      mean = std::accumulate(run.begin(), run.end(), 0.0) / count;
    }
    double squares = 0;
    for (const double value : run) squares += (value - mean) * (value - mean);
    for (double& value : run) value = (value - mean) / std::sqrt(squares / count + epsilon);
  }
}

// instance_norm is group_norm with a group for each channel.
Outputs group_norm(const Call& call) {
  std::vector<double> x = load<double>(call.input(0));
  const std::vector<double> scales = load<double>(call.input(1));
  const std::vector<double> bias = load<double>(call.input(2));
  const AxisSplit split = split_at(call.input(0).shape(), 1);
  const int64_t groups = call.op == Op::kGROUP_NORM ? call.attrs.i64(BP_ATTR_NUM_GROUPS, 1) : split.extent;
  if (x.empty()) return single(store(call.output(), x));
  normalize(x, x.size() / static_cast<size_t>(split.outer * groups), epsilon_of(call), true);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i / static_cast<size_t>(split.inner) % scales.size();
    x[i] = x[i] * scales[c] + bias[c];
  }
  return single(store(call.output(), x));
}

Outputs layer_norm(const Call& call) {
  const Shape& shape = call.input(0).shape();
  std::vector<double> x = load<double>(call.input(0));
  const auto axis = static_cast<size_t>(call.attrs.i64(BP_ATTR_AXIS, static_cast<int64_t>(shape.size()) - 1));
  const int64_t length = product(std::span(shape).subspan(axis));
  normalize(x, static_cast<size_t>(length), epsilon_of(call), call.op == Op::kLAYER_NORM);
  const std::vector<double> scales = load<double>(call.input(1));
  const std::vector<double> bias = call.has(2) ? load<double>(call.input(2)) : std::vector<double>{0};
  const std::array strides{broadcast_strides(call.input(1).shape(), shape),
                           broadcast_strides(call.has(2) ? call.input(2).shape() : Shape{}, shape)};
  auto value = x.begin();
  walk(shape, strides, [&](const std::array<int64_t, 2>& at) {
    *value = *value * scales[static_cast<size_t>(at[0])] + bias[static_cast<size_t>(at[1])];
    ++value;
  });
  return single(store(call.output(), x));
}

// softmax, log_softmax or hardmax of one line, in place.
void normalize_line(Op op, std::vector<double>& line) {
  size_t largest = 0;
  for (size_t i = 1; i < line.size(); ++i)
    if (line[i] > line[largest] || (std::isnan(line[i]) && !std::isnan(line[largest]))) largest = i;
  if (op == Op::kHARDMAX) {
    for (size_t i = 0; i < line.size(); ++i) line[i] = i == largest ? 1 : 0;
    return;
  }
  double sum = 0;
  const double shift = line[largest];
  for (double& value : line) sum += std::exp(value -= shift);
  for (double& value : line) value = op == Op::kSOFTMAX ? std::exp(value) / sum : value - std::log(sum);
}

Outputs softmax(const Call& call) {
  const Shape& shape = call.input(0).shape();
  std::vector<double> x = load<double>(call.input(0));
  const AxisSplit split = split_at(shape, call.attrs.i64(BP_ATTR_AXIS, static_cast<int64_t>(shape.size()) - 1));
  std::vector<double> line(static_cast<size_t>(split.extent));
  for (int64_t outer = 0; outer < split.outer && !x.empty(); ++outer)
    for (int64_t inner = 0; inner < split.inner; ++inner) {
      double* first = x.data() + outer * split.extent * split.inner + inner;
      for (size_t i = 0; i < line.size(); ++i) line[i] = first[static_cast<int64_t>(i) * split.inner];
      normalize_line(call.op, line);
      for (size_t i = 0; i < line.size(); ++i) first[static_cast<int64_t>(i) * split.inner] = line[i];
    }
  return single(store(call.output(), x));
}

}  // namespace

Outputs normalization(const Call& call) {
  switch (call.op) {
    case Op::kBATCH_NORM:
      return batch_norm(call);
    case Op::kINSTANCE_NORM:
    case Op::kGROUP_NORM:
      return group_norm(call);
    case Op::kLAYER_NORM:
    case Op::kRMS_NORM:
      return layer_norm(call);
    default:
      return softmax(call);
  }
}

}  // namespace backplane::reference
