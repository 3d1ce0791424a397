// The main function of the CPU tests: skips everything if this processor cannot run the variant that is linked in.

#include <gtest/gtest.h>

#include <cstdio>
#include <string_view>

namespace {

bool runs_here(std::string_view variant) {
#if defined(__x86_64__)
  if (variant == "x86-64-v2") return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  if (variant == "x86-64-v3")
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  if (variant == "x86-64-v4") {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512cd");
  }
#endif
  return variant == "baseline";
}

// What ctest takes as "skipped" (SKIP_RETURN_CODE): a program that ran nothing must not count as passed.
constexpr int kSkipped = 77;

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!::testing::GTEST_FLAG(list_tests) && !runs_here(BACKPLANE_CPU_VARIANT)) {
    std::fprintf(stderr, "skipped: this processor cannot run %s\n", BACKPLANE_CPU_VARIANT);
    return kSkipped;
  }
  return RUN_ALL_TESTS();
}
