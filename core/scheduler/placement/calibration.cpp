#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backplane/graph/builder.hpp"
#include "backplane/scheduler/device_costs.hpp"
#include "backplane/scheduler/session.hpp"
#include "base/replace_file.hpp"
#include "scheduler/placement/costs_file.hpp"

namespace backplane {
namespace {

using Clock = std::chrono::steady_clock;

// Each measurement is the best of so many.
constexpr int kRepeats = 3;
// A measurement that takes longer is good enough; larger sizes are then left out.
constexpr int64_t kLongNs = 5'000'000;
constexpr int64_t kChainNodes = 64;

int64_t since_ns(Clock::time_point start) {
  return std::max<int64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count(), 1);
}

// `amount` in `ns`, as so much per microsecond; at least 1.
int64_t rate_per_us(int64_t amount, int64_t ns) {
  return std::max<int64_t>(amount * 1000 / std::max<int64_t>(ns, 1), 1);
}

class Calibrator {
 public:
  Calibrator(Runtime& runtime, Device& device)
      : runtime_(runtime), device_(device), costs_(default_costs(device.type())) {}

  Result<DeviceCosts> run() {
    BP_TRY(measure_submission());
    BP_TRY(measure_stream());
    BP_TRY(measure_matmul());
    BP_TRY(measure_link());
    costs_.calibrated = true;
    return costs_;
  }

 private:
  // The time of a run of the graph that `make` adds between an f32 input and an output; nothing if the device does not
  // run it or has no room for it.
  template <class Make>
  Result<std::optional<int64_t>> time_graph(std::vector<int64_t> shape, const Make& make) {
    GraphBuilder builder;
    BP_TRY_ASSIGN(const TensorId x, builder.input("x", DType::kF32, shape));
    BP_TRY_ASSIGN(const TensorId y, make(builder, x));
    BP_TRY(builder.output(y, "y"));
    BP_TRY_ASSIGN(std::shared_ptr<const Graph> graph, builder.finish());
    SessionOptions options;
    options.plan.mode = PlacementMode::greedy;
    options.recover = false;
    Result<std::unique_ptr<Session>> session = Session::prepare(runtime_, std::move(graph), {&device_}, options);
    const Code code = session.status().code();
    if (code == Code::unimplemented || code == Code::resource_exhausted) return std::optional<int64_t>();
    BP_TRY(session.status());
    BP_TRY_ASSIGN(const HostTensor zeros, HostTensor::zeros(DType::kF32, shape));
    BP_TRY((*session)->set_input("x", zeros));
    int64_t best = INT64_MAX;
    for (int i = 0; i < kRepeats; ++i) {
      const Clock::time_point start = Clock::now();
      BP_TRY((*session)->run());
      best = std::min(best, since_ns(start));
      if (best > kLongNs) break;
    }
    return std::optional(best);
  }

  static Result<TensorId> chain(GraphBuilder& builder, TensorId x, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      BP_TRY_ASSIGN(x, builder.op(Op::kNEG, {x}));
    }
    return x;
  }

  Status measure_submission() {
    BP_TRY_ASSIGN(const auto one, time_graph({1}, [](auto& builder, TensorId x) { return chain(builder, x, 1); }));
    BP_TRY_ASSIGN(const auto many,
                  time_graph({1}, [](auto& builder, TensorId x) { return chain(builder, x, kChainNodes); }));
    if (!one || !many) return {};
    costs_.launch_ns = std::max<int64_t>((*many - *one) / (kChainNodes - 1), 0);
    costs_.split_ns = std::max<int64_t>(*one - costs_.launch_ns, 1);
    overhead_ns_ = *one;
    return {};
  }

  Status measure_stream() {
    for (const int64_t elements : {int64_t{1} << 14, int64_t{1} << 18, int64_t{1} << 22}) {
      BP_TRY_ASSIGN(const auto ns,
                    time_graph({elements}, [](auto& builder, TensorId x) { return chain(builder, x, 1); }));
      if (!ns) return {};
      costs_.bytes_per_us = rate_per_us(elements * 8, *ns - overhead_ns_);
      if (*ns > kLongNs) break;
    }
    return {};
  }

  // The other classes keep their ratios to the matrix product.
  Status measure_matmul() {
    const auto guessed = costs_.flops_per_us;
    for (const int64_t side : {64, 256, 512}) {
      BP_TRY_ASSIGN(const auto ns, time_graph({side, side}, [](auto& builder, TensorId x) {
                      return builder.op(Op::kMATMUL, {x, x});
                    }));
      if (!ns) return {};
      const int64_t measured = rate_per_us(2 * side * side * side, *ns - overhead_ns_);
      for (size_t i = 0; i < kOpClassCount; ++i)
        costs_.flops_per_us[i] =
            std::max<int64_t>(static_cast<int64_t>(static_cast<double>(guessed[i]) / static_cast<double>(guessed[0]) *
                                                   static_cast<double>(measured)),
                              1);
      if (*ns > kLongNs) break;
    }
    return {};
  }

  Status measure_link() {
    constexpr uint64_t kSizes[] = {uint64_t{4} << 10, uint64_t{256} << 10, uint64_t{4} << 20};
    const MemoryType& type = device_.memory_types().front();
    if (type.max_bytes != 0 && type.max_bytes < kSizes[2]) return {};
    BP_TRY_ASSIGN(Buffer buffer, device_.allocate(0, kSizes[2], BP_USAGE_COMPUTE));
    std::vector<std::byte> host(kSizes[2]);
    int64_t times[std::size(kSizes)];
    for (size_t i = 0; i < std::size(kSizes); ++i) {
      times[i] = INT64_MAX;
      for (int repeat = 0; repeat < kRepeats; ++repeat) {
        const Clock::time_point start = Clock::now();
        BP_TRY(buffer.write(0, {host.data(), kSizes[i]}));
        BP_TRY(buffer.read(0, {host.data(), kSizes[i]}));
        times[i] = std::min(times[i], since_ns(start) / 2);
      }
    }
    costs_.link_latency_ns = times[0];
    costs_.link_bytes_per_us = rate_per_us(static_cast<int64_t>(kSizes[2]), times[2] - times[0]);
    return {};
  }

  Runtime& runtime_;
  Device& device_;
  DeviceCosts costs_;
  int64_t overhead_ns_ = 0;  // of a run of one small node
};

}  // namespace

Result<DeviceCosts> calibrate(Runtime& runtime, Device& device) { return Calibrator(runtime, device).run(); }

std::vector<DeviceCosts> calibrate(Runtime& runtime, const std::vector<Device*>& devices) {
  std::vector<DeviceCosts> costs;
  for (Device* device : devices) {
    const Result<DeviceCosts> measured = calibrate(runtime, *device);
    costs.push_back(measured.ok() ? *measured : default_costs(device->type()));
  }
  return costs;
}

Result<std::vector<DeviceCosts>> calibrate(Runtime& runtime, const std::vector<Device*>& devices,
                                           const std::string& file) {
  BP_TRY_ASSIGN(CostsFile known, CostsFile::read(file));
  std::vector<DeviceCosts> costs;
  bool is_new = false;
  for (Device* device : devices) {
    const MeasuredDevice measured = MeasuredDevice::of(runtime, *device);
    if (const DeviceCosts* found = known.find(measured)) {
      costs.push_back(*found);
      continue;
    }
    costs.push_back(calibrate(runtime, std::vector{device})[0]);
    if (costs.back().calibrated) known.set(measured, costs.back()), is_new = true;
  }
  if (is_new) BP_TRY(replace_file(file, known.to_json().dump() + "\n"));
  return costs;
}

}  // namespace backplane
