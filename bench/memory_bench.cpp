// The memory planner on blocks as networks have them: how far its peaks are from what is alive at once, and how long it
// takes. Counters: MiB of bound and peak, percent over the bound, nanoseconds for each tensor.
#include <benchmark/benchmark.h>

#include <string>

#include "block_families.hpp"

namespace backplane {
namespace {

using testing::BlockFamily;

// The second argument is the work: 600 comparisons for each block as usual, 20000 where a plan is used for long.
void plan_family(benchmark::State& state, BlockFamily (*make)(uint32_t blocks)) {
  const BlockFamily family = make(static_cast<uint32_t>(state.range(0)));
  MemoryLimits limits;
  limits.comparisons_per_block = static_cast<uint64_t>(state.range(1));
  MemoryPlan plan;
  for (auto _ : state) plan = plan_memory(family.blocks, limits).value();
  const auto count = static_cast<double>(family.blocks.size());
  const auto bound = static_cast<double>(plan.lower_bound_bytes), peak = static_cast<double>(plan.peak_bytes);
  state.SetLabel(std::string(plan.method));
  state.counters["tensors"] = count;
  state.counters["bound_MiB"] = bound / 1048576;
  state.counters["peak_MiB"] = peak / 1048576;
  state.counters["gap_%"] = 100 * (peak / bound - 1);
  state.counters["ns/tensor"] =
      benchmark::Counter(count * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

BlockFamily transformer(uint32_t n) { return testing::make_transformer_blocks(n / 22, 512, false); }
BlockFamily transformer_in_place(uint32_t n) { return testing::make_transformer_blocks(n / 12, 512, true); }
BlockFamily decode(uint32_t n) { return testing::make_transformer_blocks(n / 22, 1, false); }
BlockFamily unet(uint32_t n) { return testing::make_unet_blocks(n / 500); }
BlockFamily densenet(uint32_t n) { return testing::make_densenet_blocks(n / 250, 45); }
BlockFamily cells(uint32_t n) { return testing::make_cell_blocks(n / 38, 1); }
BlockFamily backward(uint32_t n) { return testing::make_backward_blocks(n, 1); }
BlockFamily random_w20(uint32_t n) { return testing::make_random_blocks(n, 20, 0, 1); }
BlockFamily random_w20_few_long(uint32_t n) { return testing::make_random_blocks(n, 20, 500, 1); }
BlockFamily random_w100_long(uint32_t n) { return testing::make_random_blocks(n, 100, 10, 1); }

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgsProduct({{1000, 10'000, 100'000}, {600, 20'000}})->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(plan_family, transformer, transformer)->Apply(sizes);
BENCHMARK_CAPTURE(plan_family, transformer_in_place, transformer_in_place)->Apply(sizes);
BENCHMARK_CAPTURE(plan_family, decode, decode)->Apply(sizes);
BENCHMARK_CAPTURE(plan_family, unet, unet)->Apply(sizes);
BENCHMARK_CAPTURE(plan_family, densenet, densenet)->Apply(sizes);
BENCHMARK_CAPTURE(plan_family, cells, cells)->Apply(sizes);
BENCHMARK_CAPTURE(plan_family, backward, backward)->Apply(sizes);
BENCHMARK_CAPTURE(plan_family, random_w20, random_w20)->Apply(sizes);
BENCHMARK_CAPTURE(plan_family, random_w20_few_long, random_w20_few_long)->Apply(sizes);
BENCHMARK_CAPTURE(plan_family, random_w100_long, random_w100_long)
    ->ArgsProduct({{1000, 10'000}, {600, 20'000}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace backplane
