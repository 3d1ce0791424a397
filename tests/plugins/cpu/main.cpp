// The main function of the CPU tests: skips everything if this processor cannot run the variant that is linked in.

#include <gtest/gtest.h>

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

class VariantEnvironment : public ::testing::Environment {
 public:
  void SetUp() override {
    if (!runs_here(BACKPLANE_CPU_VARIANT)) GTEST_SKIP() << "this processor cannot run " << BACKPLANE_CPU_VARIANT;
  }
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::AddGlobalTestEnvironment(new VariantEnvironment);
  return RUN_ALL_TESTS();
}
