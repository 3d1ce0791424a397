#include "compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "backplane/base/text.hpp"
#include "backplane/reference/reference.hpp"

namespace backplane::testing {
namespace {

struct Format {
  int fraction_bits, least_exponent, most_exponent;  // exponents of normal numbers
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {52, -1022, 1023};
    case DType::kF16:
      return {10, -14, 15};
    case DType::kBF16:
      return {7, -126, 127};
    default:
      return {23, -126, 127};
  }
}

std::vector<double> doubles(const HostTensor& x) {
  const AttrList to = {{BP_ATTR_TO, static_cast<int64_t>(DType::kF64)}};
  const HostTensor wide = reference::evaluate(Op::kCAST, std::span(&x, 1), to).value()[0];
  return {wide.data<double>(), wide.data<double>() + wide.elements()};
}

bool close(double got, double want, const Tolerance& tolerance, DType dtype) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  if (tolerance.ulps == 0 && tolerance.absolute == 0 && tolerance.relative == 0)
    return got == want && std::signbit(got) == std::signbit(want);
  if (got == want) return true;
  const Format format = format_of(dtype);
  if (std::isinf(got) && std::isinf(want)) return false;
  // Just beyond the largest number, rounding decides between it and infinity.
  const double beyond =
      dtype == DType::kF64 ? std::numeric_limits<double>::max() : std::ldexp(1, format.most_exponent + 1);
  if (std::isinf(want)) want = std::copysign(beyond, want);
  if (std::isinf(got)) got = std::copysign(beyond, got);
  const int exponent = want == 0 ? format.least_exponent : std::max(std::ilogb(want), format.least_exponent);
  const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16;
  const double ulps = narrow ? 1 : tolerance.ulps;
  return std::fabs(got - want) <= tolerance.absolute + tolerance.relative * std::fabs(want) +
                                      ulps * std::ldexp(1, exponent - format.fraction_bits);
}

std::string integer_difference(const HostTensor& got, const HostTensor& want, uint64_t tolerance) {
  const size_t width = type_layout(want.dtype()).block_bytes;
  const auto differs = [&](size_t at) {
    if (std::memcmp(&got.bytes()[at], &want.bytes()[at], width) == 0) return false;
    return std::fabs(doubles(got)[at / width] - doubles(want)[at / width]) > static_cast<double>(tolerance) ||
           tolerance == 0;
  };
  for (size_t at = 0; at < want.bytes().size(); at += width)
    if (differs(at))
      return cat("element ", at / width, " is ", doubles(got)[at / width], ", wanted ", doubles(want)[at / width]);
  return {};
}

}  // namespace

std::string difference(const HostTensor& got, const HostTensor& want, const Tolerance& tolerance) {
  if (got.dtype() != want.dtype() || got.shape() != want.shape())
    return cat("got ", got.to_string(), ", wanted ", want.to_string());
  if (!is_plain(want.dtype()))
    return std::ranges::equal(got.bytes(), want.bytes()) ? "" : cat("blocks of ", want.to_string(), " differ");
  if (!is_float(want.dtype())) return integer_difference(got, want, tolerance.integers);
  const std::vector<double> a = doubles(got), b = doubles(want);
  size_t wrong = 0, first = 0;
  for (size_t i = a.size(); i-- > 0;) {
    if (close(a[i], b[i], tolerance, want.dtype())) continue;
    first = i;
    ++wrong;
  }
  if (wrong == 0) return {};
  char text[160];
  std::snprintf(text, sizeof text, "%zu of %zu elements of %s differ; element %zu is %.17g, wanted %.17g", wrong,
                a.size(), want.to_string().c_str(), first, a[first], b[first]);
  return text;
}

}  // namespace backplane::testing
