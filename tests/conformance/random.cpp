#include "random.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "backplane/reference/reference.hpp"

namespace backplane::testing {
namespace {

// About the exponents of the smallest denormal and the largest number.
struct Exponents {
  int least, most;
};

Exponents exponents_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {-1074, 1023};
    case DType::kF16:
      return {-24, 15};
    case DType::kBF16:
      return {-133, 127};
    default:
      return {-149, 127};
  }
}

}  // namespace

uint64_t Random::bits() {  // SplitMix64
  uint64_t z = state_ += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

int64_t Random::between(int64_t least, int64_t most) {
  return least + static_cast<int64_t>(bits() % static_cast<uint64_t>(most - least + 1));
}

double Random::real(double least, double most) {
  return least + (most - least) * std::ldexp(static_cast<double>(bits() >> 11), -53);
}

Shape Random::shape(int64_t least_rank, int64_t most_rank, bool zeros_too) {
  Shape shape(static_cast<size_t>(between(least_rank, most_rank)));
  for (int64_t& extent : shape) extent = between(1, shape.size() > 3 ? 4 : 7);
  if (shape.empty()) return shape;
  int64_t& one = shape[static_cast<size_t>(between(0, static_cast<int64_t>(shape.size()) - 1))];
  if (chance(15)) one = between(8, chance(10) ? 700 : 70);
  if (zeros_too && chance(4)) one = 0;
  return shape;
}

double Random::any_float(DType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Exponents exponents = exponents_of(dtype);
  const double sign = chance(50) ? 1 : -1;
  switch (between(0, 15)) {
    case 0:
      return sign * 0.0;
    case 1:
      return sign * kInfinity;
    case 2:
      return std::numeric_limits<double>::quiet_NaN();
    case 3:
      return sign * std::ldexp(1.0, exponents.least);
    case 4:
    case 5:
      return sign * std::ldexp(real(1, 2), static_cast<int>(between(exponents.least, exponents.most)));
    case 6:
      return sign * static_cast<double>(between(0, 10)) / 2;
    case 7:
    case 8:
      return real(-100, 100);
    default:
      return real(-4, 4);
  }
}

double Random::element(DType dtype, Values values) {
  if (!is_float(dtype)) return static_cast<double>(values == Values::positive ? between(1, 4) : between(-4, 4));
  switch (values) {
    case Values::any:
      return any_float(dtype);
    case Values::special:
      return chance(90) ? real(-4, 4) : pick<double>({0.0, -0.0, 1e-320, 0x1p-149, NAN, INFINITY, -INFINITY});
    case Values::positive:
      return real(0.0625, 4);
    case Values::offset:
      return real(100, 101);
    case Values::unit:
      return real(-1, 1);
    default:
      return real(-4, 4);
  }
}

HostTensor Random::tensor(DType dtype, Shape shape, Values values) {
  HostTensor wide = HostTensor::zeros(dtype == DType::kBOOL ? DType::kBOOL : DType::kF64, shape).value();
  if (dtype == DType::kBOOL) {
    for (std::byte& byte : wide.mutable_bytes()) byte = std::byte(bits() & 1);
    return wide;
  }
  const DType drawn = is_plain(dtype) ? dtype : DType::kF32;
  for (int64_t i = 0; i < wide.elements(); ++i) wide.mutable_data<double>()[i] = element(drawn, values);
  // Of unsigned types, negative values saturate to 0 in this cast, which leaves enough zeros to divide by.
  HostTensor exact =
      reference::evaluate(Op::kCAST, std::span(&wide, 1), {{BP_ATTR_TO, static_cast<int64_t>(dtype)}}).value()[0];
  if (is_float(drawn) || values != Values::any) return exact;
  const size_t width = type_layout(dtype).block_bytes;
  HostTensor tensor = HostTensor::zeros(dtype, std::move(shape)).value();
  for (size_t at = 0; at < tensor.mutable_bytes().size(); at += width) {
    const uint64_t whole_range = bits();
    const void* from = chance(50) ? static_cast<const void*>(&whole_range) : exact.bytes().data() + at;
    std::memcpy(tensor.mutable_bytes().data() + at, from, width);  // the low bytes on a little-endian machine
  }
  return tensor;
}

}  // namespace backplane::testing
