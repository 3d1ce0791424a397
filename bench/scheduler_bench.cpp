// How long planning takes per node, and what a split costs at run time, on simulated devices.
#include <benchmark/benchmark.h>

#include <string>

#include "backplane/graph/builder.hpp"
#include "backplane/scheduler/session.hpp"

namespace backplane {
namespace {

// Opens two fake devices; those of fake-null do nothing at all, so that what is left of a run is the scheduler.
std::unique_ptr<Runtime> open_fakes(const char* folder = FAKE_FOLDER) {
  RuntimeOptions options;
  options.plugin_paths = {folder};
  options.search_system = false;
  options.worker_count = 1;
  return Runtime::open(std::move(options)).value();
}

// A residual chain: y = neg(x); x = x + y, ... of about `count` nodes.
std::shared_ptr<const Graph> make_graph(int64_t count) {
  const std::vector<int64_t> shape = {16};
  GraphBuilder builder;
  TensorId x = builder.input("x", DType::kI32, shape).value();
  for (int64_t i = 0; i < count / 2; ++i) {
    const TensorId y = builder.op(Op::kNEG, {x}).value();
    x = builder.op(Op::kADD, {x, y}).value();
  }
  if (!builder.output(x, "y").ok()) std::abort();
  return builder.finish().value();
}

// Time divided by `count` things, nodes or splits, done in each iteration.
benchmark::Counter time_each(int64_t count) {
  return {static_cast<double>(count), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert};
}

void build_graph(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(make_graph(state.range(0)));
  state.counters["time/node"] = time_each(state.range(0));
}
BENCHMARK(build_graph)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);

void plan_graph(benchmark::State& state) {
  const auto runtime = open_fakes();
  const auto graph = make_graph(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(make_plan(graph, runtime->devices()));
  state.counters["time/node"] = time_each(state.range(0));
}
BENCHMARK(plan_graph)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);

// The part of planning that is the plugin's: its answers for all nodes.
void query_nodes(benchmark::State& state) {
  const auto runtime = open_fakes();
  const auto graph = make_graph(state.range(0));
  for (auto _ : state)
    for (Device* device : runtime->devices()) benchmark::DoNotOptimize(device->query(graph->abi()));
  state.counters["time/node"] = time_each(state.range(0));
}
BENCHMARK(query_nodes)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);

// A graph of a structure that is in the plan cache, but another object: compared in full.
void plan_again(benchmark::State& state) {
  const auto runtime = open_fakes(NULL_FOLDER);
  const auto graph = make_graph(state.range(0)), equal = make_graph(state.range(0));
  const auto session = Session::prepare(*runtime, graph).value();
  bool turn = false;
  for (auto _ : state)
    if (!session->use((turn = !turn) ? equal : graph).ok()) std::abort();
  state.counters["time/node"] = time_each(state.range(0));
}
BENCHMARK(plan_again)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMicrosecond);

// Nodes pinned to two devices in turn: every node is a split, with a copy before it unless the memory is shared.
void run_pinned(benchmark::State& state, const char* folder) {
  const auto runtime = open_fakes(folder);
  const auto graph = make_graph(state.range(0));
  PlanOptions options;
  for (NodeId node = 0; node < graph->node_count(); ++node) options.pins.emplace_back(std::to_string(node), node % 2);
  const auto session = Session::prepare(*runtime, graph, {}, options).value();
  if (!session->set_input("x", HostTensor::zeros(DType::kI32, {16}).value()).ok()) std::abort();
  for (auto _ : state)
    if (!session->run().ok()) std::abort();
  state.counters["time/split"] = time_each(static_cast<int64_t>(session->plan().splits.size()));
  state.counters["copies/split"] =
      static_cast<double>(session->plan().copies.size()) / static_cast<double>(session->plan().splits.size());
}

void run_splits(benchmark::State& state) { run_pinned(state, NULL_FOLDER); }
BENCHMARK(run_splits)->Arg(64)->Arg(1024)->Arg(16384);

void run_splits_and_copies(benchmark::State& state) { run_pinned(state, FAKE_FOLDER); }
BENCHMARK(run_splits_and_copies)->Arg(64)->Arg(1024);

}  // namespace
}  // namespace backplane
