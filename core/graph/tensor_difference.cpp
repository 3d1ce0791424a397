#include "backplane/graph/tensor_difference.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "backplane/graph/element.hpp"

namespace backplane {
namespace {

constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// 0 for equal values, both NaN included; infinite where only one side is finite, or they are opposite.
long double distance(long double got, long double expected) {
  if (got == expected || (std::isnan(got) && std::isnan(expected))) return 0;
  if (!std::isfinite(got) || !std::isfinite(expected)) return kInfinity;
  return std::fabs(got - expected);
}

void count_mismatch(TensorDifference& difference, int64_t index) {
  if (difference.mismatches++ == 0) difference.first_mismatch = index;
}

TensorDifference block_difference(const HostTensor& got, const HostTensor& expected) {
  TensorDifference result;
  const size_t unit = type_layout(got.dtype()).block_bytes;
  result.elements = static_cast<int64_t>(got.bytes().size() / unit);
  result.got = result.expected = kNan;
  for (int64_t i = 0; i < result.elements; ++i) {
    const size_t at = static_cast<size_t>(i) * unit;
    if (std::memcmp(got.bytes().data() + at, expected.bytes().data() + at, unit) != 0) count_mismatch(result, i);
  }
  if (result.elements != 0) result.worst = std::max<int64_t>(result.first_mismatch, 0);
  if (result.mismatches != 0) result.max_absolute = result.max_relative = std::numeric_limits<double>::infinity();
  return result;
}

}  // namespace

TensorDifference tensor_difference(const HostTensor& got, const HostTensor& expected, const Tolerance& tolerance) {
  if (!is_plain(got.dtype())) return block_difference(got, expected);
  TensorDifference result;
  result.elements = got.elements();
  long double worst_excess = -kInfinity;
  for (int64_t i = 0; i < got.elements(); ++i) {
    const long double g = element(got, i), e = element(expected, i);
    const long double absolute = distance(g, e);
    const long double excess =
        absolute == 0 ? -kInfinity : absolute - (tolerance.absolute + tolerance.relative * std::fabs(e));
    if (absolute == kInfinity || excess > 0) count_mismatch(result, i);
    result.max_absolute = std::max(result.max_absolute, static_cast<double>(absolute));
    if (e != 0 && std::isfinite(e))
      result.max_relative = std::max(result.max_relative, static_cast<double>(absolute / std::fabs(e)));
    // An infinite difference is the worst there is, though inf - inf says nothing.
    const long double rank = absolute == kInfinity ? kInfinity : excess;
    if (result.worst >= 0 && rank <= worst_excess) continue;
    worst_excess = rank;
    result.worst = i;
    result.got = static_cast<double>(g);
    result.expected = static_cast<double>(e);
  }
  return result;
}

}  // namespace backplane
