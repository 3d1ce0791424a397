#include "backplane/base/hash.hpp"

#include <bit>

namespace backplane {
namespace {

// The five primes of XXH64.
constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87u;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4Fu;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9u;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63u;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5u;

// Little-endian on every machine, so that hashes may be stored; compilers make one load of it.
template <size_t kBytes>
uint64_t load(const std::byte* at) {
  uint64_t value = 0;
  for (size_t i = 0; i < kBytes; ++i) value |= static_cast<uint64_t>(at[i]) << (8 * i);
  return value;
}

uint64_t round(uint64_t lane, uint64_t input) { return std::rotl(lane + input * kPrime2, 31) * kPrime1; }

uint64_t avalanche(uint64_t hash) {
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

// Consumes whole stripes of 32 bytes and returns the lanes folded into one.
uint64_t hash_stripes(const std::byte*& at, const std::byte* end, uint64_t seed) {
  uint64_t lanes[4] = {seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1};
  for (; end - at >= 32; at += 32)
    for (size_t i = 0; i < 4; ++i) lanes[i] = round(lanes[i], load<8>(at + 8 * i));
  uint64_t hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
  for (const uint64_t lane : lanes) hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
  return hash;
}

}  // namespace

uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed) {
  const std::byte* at = bytes.data();
  const std::byte* const end = at + bytes.size();
  uint64_t hash = bytes.size() >= 32 ? hash_stripes(at, end, seed) : seed + kPrime5;
  hash += bytes.size();
  for (; end - at >= 8; at += 8) hash = std::rotl(hash ^ round(0, load<8>(at)), 27) * kPrime1 + kPrime4;
  if (end - at >= 4) {
    hash = std::rotl(hash ^ (load<4>(at) * kPrime1), 23) * kPrime2 + kPrime3;
    at += 4;
  }
  for (; at != end; ++at) hash = std::rotl(hash ^ (load<1>(at) * kPrime5), 11) * kPrime1;
  return avalanche(hash);
}

uint64_t hash_combine(uint64_t a, uint64_t b) { return avalanche(std::rotl(a ^ round(0, b), 27) * kPrime1 + kPrime4); }

}  // namespace backplane
