// What finding, judging, trying and loading costs for each plugin, by the number of plugins.
//
// A library stays mapped for the life of a process, so every measurement is made in a child process of its own, which
// starts as small as this one: only the children open a Runtime.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "backplane/runtime/runtime.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kToyId = "org.test.toy";

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "loader_bench: %s\n", what);
  std::_Exit(1);
}

// As long as the toy's own id.
std::string id_of(int64_t number) {
  std::string digits = std::to_string(number);
  return "bench." + std::string(6 - digits.size(), '0') + digits;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A folder of `count` copies of the toy plugin, each with an id and a manifest of its own, and a cache for verdicts.
class World {
 public:
  explicit World(int64_t count) {
    char name[] = "/tmp/backplane-bench-XXXXXX";
    if (!mkdtemp(name)) give_up("no temporary folder");
    root_ = name;
    fs::create_directory(root_ / "plugins.d");
    const std::string toy = read_file(TOY_LIBRARY);
    const size_t at = toy.find(std::string(kToyId) + '\0');
    if (at == std::string::npos || toy.find(kToyId, at + 1) != std::string::npos) give_up("no single id in the toy");
    for (int64_t i = 0; i < count; ++i) add(std::string(toy).replace(at, kToyId.size(), id_of(i)), id_of(i));
  }
  ~World() { fs::remove_all(root_); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  std::string library(int64_t number) const { return (root_ / "plugins.d" / id_of(number)).string() + ".so"; }
  void forget_verdicts() const { fs::remove_all(root_ / "cache"); }
  std::unique_ptr<Runtime> open(const char* probe) const {
    RuntimeOptions options;
    options.environment = Environment({{"BACKPLANE_PLUGIN_PATH", (root_ / "plugins.d").string()},
                                       {"BACKPLANE_PROBE", probe},
                                       {"XDG_CONFIG_HOME", (root_ / "config").string()},
                                       {"XDG_CACHE_HOME", (root_ / "cache").string()}});
    options.worker_count = 1;
    return Runtime::open(std::move(options)).value();
  }

 private:
  void add(const std::string& library, const std::string& id) const {
    const fs::path stem = root_ / "plugins.d" / id;
    std::ofstream(stem.string() + ".so", std::ios::binary) << library;
    std::ofstream(stem.string() + ".json") << R"({"file_format_version": "1.0", "plugin": {"id": ")" << id
                                           << R"(", "library_path": ")" << id << R"(.so"}})";
  }

  fs::path root_;
};

struct Cost {
  double seconds = 0;      // as a clock tells
  double cpu_seconds = 0;  // of this process alone: what other programs on the machine leave as it is
};

double seconds_of(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Work>
Cost cost_of(const Work& work) {
  const double start = seconds_of(CLOCK_MONOTONIC), cpu_start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  work();
  return {seconds_of(CLOCK_MONOTONIC) - start, seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_start};
}

// Calls `work`, which returns what it measured, in a child, and returns that.
template <class Work>
Cost in_child(const Work& work) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) give_up("no pipe");
  const pid_t child = fork();
  if (child < 0) give_up("no child");
  if (child == 0) {
    const Cost cost = work();
    std::_Exit(write(pipe_ends[1], &cost, sizeof cost) == sizeof cost ? 0 : 1);
  }
  close(pipe_ends[1]);
  Cost cost;
  const bool told = read(pipe_ends[0], &cost, sizeof cost) == sizeof cost;
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!told || status != 0) give_up("a child failed");
  return cost;
}

Cost open_in_child(const World& world, const char* probe, int64_t count) {
  return in_child([&] {
    std::unique_ptr<Runtime> runtime;
    const Cost cost = cost_of([&] { runtime = world.open(probe); });
    if (static_cast<int64_t>(runtime->devices().size()) != count) give_up("a plugin was not loaded");
    return cost;
  });
}

// Runs the benchmark: `measure` returns the cost of one iteration.
template <class Measure>
void run(benchmark::State& state, const Measure& measure) {
  double cpu_seconds = 0;
  for (auto _ : state) {
    const Cost cost = measure();
    state.SetIterationTime(cost.seconds);
    cpu_seconds += cost.cpu_seconds;
  }
  const auto plugins = static_cast<double>(state.range(0));
  state.counters["time/plugin"] = {plugins,
                                   benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert};
  state.counters["cpu/plugin"] = cpu_seconds / static_cast<double>(state.iterations()) / plugins;
}

// What the system's loader alone takes for the same libraries.
void dlopen_alone(benchmark::State& state) {
  const World world(state.range(0));
  run(state, [&] {
    return in_child([&] {
      return cost_of([&] {
        for (int64_t i = 0; i < state.range(0); ++i)
          if (!dlopen(world.library(i).c_str(), RTLD_NOW | RTLD_LOCAL)) give_up("a library was not loaded");
      });
    });
  });
}

void open_without_probes(benchmark::State& state) {
  const World world(state.range(0));
  run(state, [&] { return open_in_child(world, "off", state.range(0)); });
}

void open_with_verdicts(benchmark::State& state) {
  const World world(state.range(0));
  open_in_child(world, "cached", state.range(0));
  run(state, [&] { return open_in_child(world, "cached", state.range(0)); });
}

void open_with_probes(benchmark::State& state) {
  const World world(state.range(0));
  run(state, [&] {
    world.forget_verdicts();
    return open_in_child(world, "cached", state.range(0));
  });
}

void rescan_with_nothing_new(benchmark::State& state) {
  const World world(state.range(0));
  run(state, [&] {
    return in_child([&] {
      const auto runtime = world.open("off");
      return cost_of([&] {
        if (!runtime->rescan().ok()) give_up("a scan failed");
      });
    });
  });
}

void counts(benchmark::internal::Benchmark* bench) {
  bench->Arg(1)->Arg(50)->Arg(200)->UseManualTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(dlopen_alone)->Apply(counts);
BENCHMARK(open_without_probes)->Apply(counts);
BENCHMARK(open_with_verdicts)->Apply(counts);
BENCHMARK(open_with_probes)->Apply(counts)->Iterations(1);
BENCHMARK(rescan_with_nothing_new)->Apply(counts);

}  // namespace
}  // namespace backplane
