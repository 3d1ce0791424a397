#include "backplane/registry/cpu_features.hpp"

#include <array>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace backplane {
namespace {

using Feature = std::pair<const char*, bool>;

#if defined(__x86_64__)

// Bits that __builtin_cpu_supports does not know in every compiler.
constexpr uint32_t kF16cBit = 1u << 29, kMovbeBit = 1u << 22;  // leaf 1, ECX
constexpr uint32_t kLzcntBit = 1u << 5;                        // leaf 0x80000001, ECX

uint32_t cpuid_ecx(uint32_t leaf) {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(leaf, &a, &b, &c, &d) ? c : 0;
}

// The builtin answers "avx" and beyond only if the operating system saves the registers; f16c works on the same ones.
auto detect_features() {
  const uint32_t leaf1 = cpuid_ecx(1), extended = cpuid_ecx(0x80000001u);
  return std::to_array<Feature>({
#define FEATURE(name) {name, __builtin_cpu_supports(name) != 0}
      FEATURE("sse3"),
      FEATURE("ssse3"),
      FEATURE("sse4.1"),
      FEATURE("sse4.2"),
      FEATURE("popcnt"),
      FEATURE("aes"),
      FEATURE("pclmul"),
      FEATURE("avx"),
      FEATURE("avx2"),
      FEATURE("fma"),
      FEATURE("bmi"),
      FEATURE("bmi2"),
      FEATURE("avx512f"),
      FEATURE("avx512bw"),
      FEATURE("avx512cd"),
      FEATURE("avx512dq"),
      FEATURE("avx512vl"),
      FEATURE("avx512ifma"),
      FEATURE("avx512vbmi"),
      FEATURE("avx512vbmi2"),
      FEATURE("avx512vnni"),
      FEATURE("avx512bitalg"),
      FEATURE("avx512vpopcntdq"),
      FEATURE("avx512bf16"),
      FEATURE("vpclmulqdq"),
      FEATURE("gfni"),
#undef FEATURE
      {"f16c", (leaf1 & kF16cBit) != 0 && __builtin_cpu_supports("avx") != 0},
      {"movbe", (leaf1 & kMovbeBit) != 0},
      {"lzcnt", (extended & kLzcntBit) != 0},
  });
}

#else

// Names of other processors come with the first plugin that needs them.
std::array<Feature, 0> detect_features() { return {}; }

#endif

}  // namespace

CpuFeatures CpuFeatures::detect() {
  std::set<std::string, std::less<>> names;
  for (const auto& [name, present] : detect_features())
    if (present) names.insert(name);
  return CpuFeatures(std::move(names));
}

std::vector<std::string> CpuFeatures::missing(std::span<const std::string> required) const {
  std::vector<std::string> missing;
  for (const std::string& name : required)
    if (!has(name)) missing.push_back(name);
  return missing;
}

const std::vector<std::string>& CpuFeatures::known_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, present] : detect_features()) all.emplace_back(name);
    return all;
  }();
  return names;
}

}  // namespace backplane
