// Hash: a 64-bit structural hash for keys of caches and files. Not for security.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace backplane {

// Hashes bytes; stable across machines and releases (XXH64 layout, seed included in the input).
uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed = 0);
inline uint64_t hash_text(std::string_view text, uint64_t seed = 0) {
  return hash_bytes(std::as_bytes(std::span(text.data(), text.size())), seed);
}
uint64_t hash_combine(uint64_t a, uint64_t b);

}  // namespace backplane
