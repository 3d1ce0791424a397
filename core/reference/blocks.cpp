#include "blocks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "values.hpp"

namespace backplane::reference {
namespace {

using Bytes = const uint8_t*;

double f16_at(Bytes block, int at) { return f16_value(static_cast<uint16_t>(block[at] | block[at + 1] << 8)); }
int signed_at(Bytes block, int at) { return static_cast<int8_t>(block[at]); }

// The two numbers of six bits of sub-block j of a q4_K block: scale and minimum.
struct Pair {
  int scale, minimum;
};
Pair pair_of_q4_k(Bytes packed, int j) {
  if (j < 4) return {packed[j] & 63, packed[j + 4] & 63};
  return {(packed[j + 4] & 15) | (packed[j - 4] >> 6) << 4, packed[j + 4] >> 4 | (packed[j] >> 6) << 4};
}
void put_pair_of_q4_k(uint8_t* packed, int j, Pair pair) {
  if (j < 4) {
    packed[j] = static_cast<uint8_t>((packed[j] & 0xC0) | pair.scale);
    packed[j + 4] = static_cast<uint8_t>((packed[j + 4] & 0xC0) | pair.minimum);
    return;
  }
  packed[j + 4] = static_cast<uint8_t>((pair.scale & 15) | (pair.minimum & 15) << 4);
  packed[j - 4] = static_cast<uint8_t>((packed[j - 4] & 63) | (pair.scale >> 4) << 6);
  packed[j] = static_cast<uint8_t>((packed[j] & 63) | (pair.minimum >> 4) << 6);
}

// Where element i of a q6_K block has its low four bits and its high two.
struct Place {
  int low, low_shift, high, high_shift;
};
Place place_in_q6_k(int i) {
  const int half = i / 128, quarter = i % 128 / 32, l = i % 32;
  return {half * 64 + l + quarter % 2 * 32, quarter / 2 * 4, 128 + half * 32 + l, quarter * 2};
}

double element_of(DType dtype, Bytes block, int i) {
  switch (dtype) {
    case DType::kQ8_0:
      return f16_at(block, 0) * signed_at(block, 2 + i);
    case DType::kQ4_0:
      return f16_at(block, 0) * ((block[2 + i % 16] >> i / 16 * 4 & 15) - 8);
    case DType::kQ4_K: {
      const Pair pair = pair_of_q4_k(block + 4, i / 32);
      const int q = block[16 + i / 64 * 32 + i % 32] >> i / 32 % 2 * 4 & 15;
      return f16_at(block, 0) * pair.scale * q - f16_at(block, 2) * pair.minimum;
    }
    default: {  // q6_K
      const Place at = place_in_q6_k(i);
      const int q = (block[at.low] >> at.low_shift & 15) | (block[at.high] >> at.high_shift & 3) << 4;
      return f16_at(block, 208) * signed_at(block, 192 + i / 16) * (q - 32);
    }
  }
}

// Encoding, of finite values.

double nearest_step(double value, double step, double low, double high) {
  return step == 0 ? std::clamp(0.0, low, high) : std::clamp(std::nearbyint(value / step), low, high);
}

// Writes a step as f16, finite, and returns what was written.
double put_step(uint8_t* block, int at, double step) {
  const uint16_t bits = f16_bits(std::clamp(step, -65504.0, 65504.0));
  block[at] = static_cast<uint8_t>(bits);
  block[at + 1] = static_cast<uint8_t>(bits >> 8);
  return f16_value(bits);
}

// The value of the largest magnitude, the first of equals.
double widest(std::span<const double> x) {
  return *std::max_element(x.begin(), x.end(), [](double a, double b) { return std::fabs(a) < std::fabs(b); });
}

void encode_q8_0(std::span<const double> x, uint8_t* block) {
  const double d = put_step(block, 0, std::fabs(widest(x)) / 127);
  for (size_t i = 0; i < x.size(); ++i)
    block[2 + i] = static_cast<uint8_t>(static_cast<int8_t>(nearest_step(x[i], d, -127, 127)));
}

void encode_q4_0(std::span<const double> x, uint8_t* block) {
  const double d = put_step(block, 0, widest(x) / -8);
  for (size_t i = 0; i < x.size(); ++i)
    block[2 + i % 16] |= static_cast<uint8_t>(static_cast<int>(nearest_step(x[i], d, -8, 7) + 8) << i / 16 * 4);
}

void encode_q4_k(std::span<const double> x, uint8_t* block) {
  double steps[8], minima[8];
  for (size_t j = 0; j < 8; ++j) {
    const auto [low, high] = std::minmax_element(x.begin() + 32 * j, x.begin() + 32 * (j + 1));
    minima[j] = std::max(0.0, -*low);
    steps[j] = (*high + minima[j]) / 15;
  }
  const double d = put_step(block, 0, *std::ranges::max_element(steps) / 63);
  const double d_min = put_step(block, 2, *std::ranges::max_element(minima) / 63);
  for (int j = 0; j < 8; ++j) {
    const Pair pair = {static_cast<int>(nearest_step(steps[j], d, 0, 63)),
                       static_cast<int>(nearest_step(minima[j], d_min, 0, 63))};
    put_pair_of_q4_k(block + 4, j, pair);
    for (int i = 32 * j; i < 32 * (j + 1); ++i) {
      const double q = nearest_step(x[static_cast<size_t>(i)] + d_min * pair.minimum, d * pair.scale, 0, 15);
      block[16 + i / 64 * 32 + i % 32] |= static_cast<uint8_t>(static_cast<int>(q) << j % 2 * 4);
    }
  }
}

void encode_q6_k(std::span<const double> x, uint8_t* block) {
  double steps[16];
  for (size_t j = 0; j < 16; ++j) steps[j] = widest(x.subspan(16 * j, 16)) / -32;
  const double d = put_step(block, 208, std::fabs(widest(steps)) / 127);
  for (int i = 0; i < 256; ++i) {
    const double scale = nearest_step(steps[i / 16], d, -127, 127);
    block[192 + i / 16] = static_cast<uint8_t>(static_cast<int8_t>(scale));
    const int q = static_cast<int>(nearest_step(x[static_cast<size_t>(i)], d * scale, -32, 31)) + 32;
    const Place at = place_in_q6_k(i);
    block[at.low] |= static_cast<uint8_t>((q & 15) << at.low_shift);
    block[at.high] |= static_cast<uint8_t>((q >> 4) << at.high_shift);
  }
}

void encode(DType dtype, std::span<const double> x, uint8_t* block) {
  switch (dtype) {
    case DType::kQ8_0:
      return encode_q8_0(x, block);
    case DType::kQ4_0:
      return encode_q4_0(x, block);
    case DType::kQ4_K:
      return encode_q4_k(x, block);
    default:
      return encode_q6_k(x, block);
  }
}

}  // namespace

std::vector<double> load_blocks(const HostTensor& x) {
  const TypeLayout layout = type_layout(x.dtype());
  std::vector<double> values(static_cast<size_t>(x.elements()));
  const auto* bytes = reinterpret_cast<Bytes>(x.bytes().data());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(element_of(x.dtype(), bytes + i / layout.block_elements * layout.block_bytes,
                                              static_cast<int>(i % layout.block_elements)));
  return values;
}

Result<HostTensor> store_blocks(const TensorSpec& spec, const std::vector<double>& values) {
  BP_TRY_ASSIGN(HostTensor tensor, HostTensor::zeros(spec.dtype, spec.shape));
  const TypeLayout layout = type_layout(spec.dtype);
  auto* block = reinterpret_cast<uint8_t*>(tensor.mutable_bytes().data());
  std::vector<double> numbers = values;
  constexpr double kMost = std::numeric_limits<float>::max();
  for (double& value : numbers) value = std::isnan(value) ? 0 : std::clamp(value, -kMost, kMost);
  for (size_t i = 0; i < numbers.size(); i += layout.block_elements, block += layout.block_bytes)
    encode(spec.dtype, std::span(numbers).subspan(i, layout.block_elements), block);
  return tensor;
}

}  // namespace backplane::reference
