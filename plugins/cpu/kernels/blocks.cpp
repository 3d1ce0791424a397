#include "kernels/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/element_types.hpp"

namespace backplane_cpu {
namespace {

// ---- q8_0: d, then 32 signed bytes

void decode_q8_0(const std::byte* block, float* out) {
  const float d = to_float(load_element<F16>(block));
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(static_cast<int8_t>(block[2 + i]));
}

// ---- q4_0: d, then 16 bytes: the first half of the elements in low nibbles, the second in high ones

void decode_q4_0(const std::byte* block, float* out) {
  const float d = to_float(load_element<F16>(block));
  for (int i = 0; i < 16; ++i) {
    const int byte = static_cast<int>(block[2 + i]);
    out[i] = d * static_cast<float>((byte & 15) - 8);
    out[i + 16] = d * static_cast<float>((byte >> 4) - 8);
  }
}

// ---- q4_K: d, d of minima, 8 pairs of six bits in 12 bytes, then 4 x 32 bytes that hold two sub-blocks of 32 each

constexpr int kSubBlocks = 8;

struct SixBits {
  uint8_t scale[kSubBlocks], minimum[kSubBlocks];
};

// Pairs 0 to 3 are the low six bits of bytes 0 to 7; 4 to 7 have four bits in bytes 8 to 11 and two above the others.
SixBits unpack(const std::byte* packed) {
  uint8_t bytes[12];
  std::memcpy(bytes, packed, sizeof bytes);
  SixBits pairs;
  for (int j = 0; j < 4; ++j) {
    pairs.scale[j] = bytes[j] & 63;
    pairs.minimum[j] = bytes[4 + j] & 63;
    pairs.scale[4 + j] = static_cast<uint8_t>((bytes[8 + j] & 15) | (bytes[j] >> 6) << 4);
    pairs.minimum[4 + j] = static_cast<uint8_t>((bytes[8 + j] >> 4) | (bytes[4 + j] >> 6) << 4);
  }
  return pairs;
}

void pack(const SixBits& pairs, std::byte* packed) {
  for (int j = 0; j < 4; ++j) {
    packed[j] = static_cast<std::byte>(pairs.scale[j] | (pairs.scale[4 + j] >> 4) << 6);
    packed[4 + j] = static_cast<std::byte>(pairs.minimum[j] | (pairs.minimum[4 + j] >> 4) << 6);
    packed[8 + j] = static_cast<std::byte>((pairs.scale[4 + j] & 15) | (pairs.minimum[4 + j] & 15) << 4);
  }
}

void decode_q4_k(const std::byte* block, float* out) {
  const float d = to_float(load_element<F16>(block)), d_min = to_float(load_element<F16>(block + 2));
  const SixBits pairs = unpack(block + 4);
  const std::byte* nibbles = block + 16;
  for (int j = 0; j < kSubBlocks; j += 2, nibbles += 32, out += 64) {
    const float low = d * pairs.scale[j], high = d * pairs.scale[j + 1];
    const float low_min = d_min * pairs.minimum[j], high_min = d_min * pairs.minimum[j + 1];
    for (int i = 0; i < 32; ++i) {
      const int byte = static_cast<int>(nibbles[i]);
      out[i] = low * static_cast<float>(byte & 15) - low_min;
      out[i + 32] = high * static_cast<float>(byte >> 4) - high_min;
    }
  }
}

// ---- q6_K: 128 bytes of low nibbles, 64 bytes of two high bits, 16 signed scales, d. Each half of the block is four
// quarters of 32 elements.

void decode_q6_k(const std::byte* block, float* out) {
  const float d = to_float(load_element<F16>(block + 208));
  for (int half = 0; half < 2; ++half) {
    const std::byte *low = block + 64 * half, *high = block + 128 + 32 * half, *scales = block + 192 + 8 * half;
    for (int quarter = 0; quarter < 4; ++quarter, out += 32)
      for (int i = 0; i < 32; ++i) {
        const int nibble = static_cast<int>(low[i + 32 * (quarter & 1)]) >> 4 * (quarter >> 1) & 15;
        const int top = static_cast<int>(high[i]) >> 2 * quarter & 3;
        const float scale = d * static_cast<float>(static_cast<int8_t>(scales[2 * quarter + i / 16]));
        out[i] = scale * static_cast<float>((nibble | top << 4) - 32);
      }
  }
}

// ---- quantisation, in f64

int quantised(double value, double step, int low, int high) {
  if (step == 0) return std::clamp(0, low, high);
  return static_cast<int>(std::clamp<double>(std::nearbyint(value / step), low, high));
}

double store_step(double step, std::byte* to) {
  const F16 written = to_f16(round_to_odd(std::clamp(step, -65504.0, 65504.0)));
  store_element(to, written);
  return static_cast<double>(to_float(written));
}

// Of the largest magnitude, the first of equals.
double widest(const double* values, int count) {
  double best = values[0];
  for (int i = 1; i < count; ++i)
    if (std::abs(values[i]) > std::abs(best)) best = values[i];
  return best;
}

void encode_q8_0(const double* x, std::byte* block) {
  const double d = store_step(std::abs(widest(x, 32)) / 127, block);
  for (int i = 0; i < 32; ++i) block[2 + i] = static_cast<std::byte>(quantised(x[i], d, -127, 127));
}

void encode_q4_0(const double* x, std::byte* block) {
  const double d = store_step(widest(x, 32) / -8, block);
  for (int i = 0; i < 16; ++i) {
    const int low = quantised(x[i], d, -8, 7) + 8, high = quantised(x[i + 16], d, -8, 7) + 8;
    block[2 + i] = static_cast<std::byte>(low | high << 4);
  }
}

void encode_q4_k(const double* x, std::byte* block) {
  double steps[kSubBlocks], minima[kSubBlocks], most_step = 0, most_minimum = 0;
  for (int j = 0; j < kSubBlocks; ++j) {
    const double* part = x + 32 * j;
    const auto [low, high] = std::minmax_element(part, part + 32);
    minima[j] = std::max(0.0, -*low);
    steps[j] = (*high + minima[j]) / 15;
    most_step = j == 0 ? steps[0] : std::max(most_step, steps[j]);
    most_minimum = std::max(most_minimum, minima[j]);
  }
  const double d = store_step(most_step / 63, block), d_min = store_step(most_minimum / 63, block + 2);
  SixBits pairs;
  std::byte* nibbles = block + 16;
  std::memset(nibbles, 0, 128);
  for (int j = 0; j < kSubBlocks; ++j) {
    pairs.scale[j] = static_cast<uint8_t>(quantised(steps[j], d, 0, 63));
    pairs.minimum[j] = static_cast<uint8_t>(quantised(minima[j], d_min, 0, 63));
    for (int i = 0; i < 32; ++i) {
      const int q = quantised(x[32 * j + i] + d_min * pairs.minimum[j], d * pairs.scale[j], 0, 15);
      nibbles[32 * (j / 2) + i] |= static_cast<std::byte>(q << 4 * (j & 1));
    }
  }
  pack(pairs, block + 4);
}

void encode_q6_k(const double* x, std::byte* block) {
  double steps[16];
  for (int j = 0; j < 16; ++j) steps[j] = widest(x + 16 * j, 16) / -32;
  const double d = store_step(std::abs(widest(steps, 16)) / 127, block + 208);
  std::memset(block, 0, 192);
  for (int j = 0; j < 16; ++j) {
    const int scale = quantised(steps[j], d, -127, 127);
    block[192 + j] = static_cast<std::byte>(scale);
    const int half = j / 8, quarter = j % 8 / 2;
    std::byte* low = block + 64 * half + 32 * (quarter & 1) + 16 * (j & 1);
    std::byte* high = block + 128 + 32 * half + 16 * (j & 1);
    for (int i = 0; i < 16; ++i) {
      const int q = quantised(x[16 * j + i], d * scale, -32, 31) + 32;
      low[i] |= static_cast<std::byte>((q & 15) << 4 * (quarter >> 1));
      high[i] |= static_cast<std::byte>((q >> 4) << 2 * quarter);
    }
  }
}

}  // namespace

DecodeFn decode_function(uint32_t dtype) {
  switch (dtype) {
    case BP_TYPE_Q8_0:
      return decode_q8_0;
    case BP_TYPE_Q4_0:
      return decode_q4_0;
    case BP_TYPE_Q4_K:
      return decode_q4_k;
    case BP_TYPE_Q6_K:
      return decode_q6_k;
    default:
      return nullptr;
  }
}

EncodeFn encode_function(uint32_t dtype) {
  switch (dtype) {
    case BP_TYPE_Q8_0:
      return encode_q8_0;
    case BP_TYPE_Q4_0:
      return encode_q4_0;
    case BP_TYPE_Q4_K:
      return encode_q4_k;
    case BP_TYPE_Q6_K:
      return encode_q6_k;
    default:
      return nullptr;
  }
}

void encode_block(EncodeFn encode, Compute from, const void* elements, int64_t count, std::byte* block) {
  constexpr double kMost = std::numeric_limits<float>::max();
  double values[kMaxBlock];
  for (int64_t i = 0; i < count; ++i) {
    const double value =
        from == Compute::kF64 ? static_cast<const double*>(elements)[i] : static_cast<const float*>(elements)[i];
    values[i] = value != value ? 0 : std::clamp(value, -kMost, kMost);
  }
  encode(values, block);
}

}  // namespace backplane_cpu
