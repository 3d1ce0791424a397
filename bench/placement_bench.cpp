// How good placements are and how long they take: splits, copies and bytes of modes greedy and mincomm on the family of
// graphs that tests use too, and the time for each node by the number of nodes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "backplane/runtime/runtime.hpp"
#include "graph_families.hpp"

namespace backplane {
namespace {

using testing::CasePlacer;
using testing::PlacedCase;
using testing::PlacementCase;

// Time divided by `count` nodes done in each iteration.
benchmark::Counter time_each(uint32_t count) {
  return {static_cast<double>(count), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert};
}

void report(benchmark::State& state, const std::string& prefix, const PlacedCase& placed) {
  state.counters[prefix + "splits"] = static_cast<double>(placed.cut.splits.size());
  state.counters[prefix + "copies"] = static_cast<double>(placed.cut.copies.size());
  state.counters[prefix + "KiB"] = static_cast<double>(placed.cut.copy_bytes() / 1024);
}

// One row of the table: what both modes come to, how many times dearer greedy is, and the time that mincomm takes.
void place_and_report(benchmark::State& state, PlacementCase placement_case) {
  CasePlacer placer(std::move(placement_case));
  const PlacedCase greedy = placer.place(PlacementMode::greedy), best = placer.place(PlacementMode::mincomm);
  for (auto _ : state) benchmark::DoNotOptimize(placer.place_only(PlacementMode::mincomm));
  state.SetLabel(placer.placement_case().name);
  report(state, "1:greedy ", greedy);
  report(state, "2:mincomm ", best);
  state.counters["3:cost ratio"] = static_cast<double>(greedy.ns) / static_cast<double>(best.ns);
  state.counters["time/node"] = time_each(placer.placement_case().graph->node_count());
}

void family(benchmark::State& state) {
  static const std::vector<PlacementCase> cases = testing::placement_family();
  place_and_report(state, cases[static_cast<size_t>(state.range(0))]);
}
BENCHMARK(family)->DenseRange(0, 22)->Unit(benchmark::kMillisecond);

void large_random(benchmark::State& state) {
  const auto nodes = static_cast<uint32_t>(state.range(0));
  place_and_report(state, testing::make_random_case({.seed = 1, .node_count = nodes, .device_count = 4}));
}
BENCHMARK(large_random)->Arg(20000)->Arg(200000)->Unit(benchmark::kMillisecond);

// A decoder of about `nodes` nodes; its layers are spread over two devices and the host.
PlacementCase decoder(int64_t nodes) {
  testing::TransformerShape shape;
  shape.layers = static_cast<uint32_t>(std::max<int64_t>(nodes / 26, 3));
  shape.device_count = 3;
  for (uint32_t layer = 0; layer < shape.layers; ++layer) shape.attention_device.push_back(layer * 3 / shape.layers);
  shape.ffn_device = shape.attention_device;
  return testing::make_transformer("decoder", shape);
}

// The same with all attention on one device and all of the rest on another: the placement changes all over the graph.
PlacementCase divided_decoder(int64_t nodes) {
  testing::TransformerShape shape;
  shape.layers = static_cast<uint32_t>(std::max<int64_t>(nodes / 26, 3));
  shape.device_count = 3;
  shape.attention_device.assign(shape.layers, 0);
  shape.ffn_device.assign(shape.layers, 1);
  return testing::make_transformer("divided decoder", shape);
}

void place_decoder(benchmark::State& state, PlacementCase placement_case, PlacementMode mode) {
  CasePlacer placer(std::move(placement_case));
  for (auto _ : state) benchmark::DoNotOptimize(placer.place_only(mode));
  state.counters["time/node"] = time_each(placer.placement_case().graph->node_count());
}
void place_greedy(benchmark::State& state) { place_decoder(state, decoder(state.range(0)), PlacementMode::greedy); }
void place_mincomm(benchmark::State& state) { place_decoder(state, decoder(state.range(0)), PlacementMode::mincomm); }
void place_divided(benchmark::State& state) {
  place_decoder(state, divided_decoder(state.range(0)), PlacementMode::mincomm);
}
BENCHMARK(place_greedy)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);
BENCHMARK(place_mincomm)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);
BENCHMARK(place_divided)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);

std::unique_ptr<Runtime> open_fakes() {
  RuntimeOptions options;
  options.plugin_paths = {FAKE_FOLDER};
  options.search_system = false;
  options.worker_count = 1;
  return Runtime::open(std::move(options)).value();
}

// The whole of planning on simulated devices: their answers, placement, splits, tasks and memory.
void plan_decoder(benchmark::State& state, PlacementMode mode) {
  const auto runtime = open_fakes();
  PlacementCase whole = decoder(state.range(0));
  whole.options.mode = mode;
  for (auto& [name, device] : whole.options.locations) device = std::min<uint32_t>(device, 1);
  for (auto _ : state) benchmark::DoNotOptimize(make_plan(whole.graph, runtime->devices(), whole.options).value());
  state.counters["time/node"] = time_each(whole.graph->node_count());
}
void plan_greedy(benchmark::State& state) { plan_decoder(state, PlacementMode::greedy); }
void plan_mincomm(benchmark::State& state) { plan_decoder(state, PlacementMode::mincomm); }
BENCHMARK(plan_greedy)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);
BENCHMARK(plan_mincomm)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);

// The part of that which is the plugin's.
void query_decoder(benchmark::State& state) {
  const auto runtime = open_fakes();
  const PlacementCase whole = decoder(state.range(0));
  for (auto _ : state)
    for (Device* device : runtime->devices()) benchmark::DoNotOptimize(device->query(whole.graph->abi()));
  state.counters["time/node"] = time_each(whole.graph->node_count());
}
BENCHMARK(query_decoder)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace backplane
