// Reductions. Floats accumulate in f64, so the order of summation does not show in f32 results.
//
// Two ways through memory: if the innermost axis is reduced, one output at a time over runs of the input; if it is
// kept, a block of neighbouring outputs at a time, so that memory is read along its rows.

#include <cmath>
#include <limits>

#include "kernels/checks.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/families.hpp"

namespace backplane_cpu {
namespace {

// What a value is accumulated in.
template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double,
                                std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, T>>;

// One reduction: start value, how an element enters, what comes out. `Acc` may differ from T: integer sums are formed
// without a sign because they wrap.
template <class T>
struct Sum {
  using Acc = Wide<T>;
  static Acc start() { return Acc{0}; }
  static Acc add(Acc acc, T x) { return acc + static_cast<Acc>(x); }
  static T finish(Acc acc, int64_t) { return static_cast<T>(acc); }
};
template <class T>
struct Mean : Sum<T> {
  static T finish(Wide<T> acc, int64_t n) {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(acc / static_cast<double>(n));
    } else {
      return n == 0 ? T{0} : static_cast<T>(static_cast<T>(acc) / static_cast<T>(n));
    }
  }
};
template <class T>
struct Prod : Sum<T> {
  static Wide<T> start() { return Wide<T>{1}; }
  static Wide<T> add(Wide<T> acc, T x) { return acc * static_cast<Wide<T>>(x); }
};
template <class T>
struct L1 : Sum<T> {
  static Wide<T> add(Wide<T> acc, T x) {
    const Wide<T> value = static_cast<Wide<T>>(x);
    return x < T{0} ? acc - value : acc + value;
  }
};
template <class T>
struct SumSquare : Sum<T> {
  static Wide<T> add(Wide<T> acc, T x) { return acc + static_cast<Wide<T>>(x) * static_cast<Wide<T>>(x); }
};
template <class T>
struct L2 : SumSquare<T> {
  static T finish(Wide<T> acc, int64_t) { return static_cast<T>(std::sqrt(acc)); }
};
template <class T>
struct LogSum : Sum<T> {
  static T finish(Wide<T> acc, int64_t) { return static_cast<T>(std::log(acc)); }
};
// NaN wins and stays: nothing compares greater, and nothing replaces it.
template <class T>
struct Max {
  using Acc = T;
  static T start() {
    return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  }
  static T add(T acc, T x) { return x > acc || x != x ? x : acc; }
  static T finish(T acc, int64_t) { return acc; }
};
template <class T>
struct Min : Max<T> {
  static T start() {
    return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  }
  static T add(T acc, T x) { return x < acc || x != x ? x : acc; }
};

// How a reduction runs over memory.
struct ReducePlan {
  ChunkReader row;     // the reduced elements of one output, or one row of neighbouring outputs (block)
  Walk kept;           // input position of each output
  Walk reduced;        // block: input position of each row within the reduced axes
  bool block = false;  // several outputs at a time
  Walk output;
  ConvertFn narrow = nullptr;
  int64_t reduced_count = 0;
};

inline constexpr int64_t kBlock = 256;

template <class T, template <class> class Op>
class ReduceKernel final : public Kernel {
 public:
  explicit ReduceKernel(const ReducePlan& plan) : plan_(plan) {}
  uint32_t max_workers() const override {
    return std::min(workers_for(plan_.output.count() * std::max<int64_t>(plan_.reduced_count, 1)),
                    static_cast<uint32_t>(std::clamp<int64_t>(plan_.output.count(), 1, 1024)));
  }
  void run(const RunArgs& args) const noexcept override {
    if (plan_.block) return run_blocks(args);
    const Range range = share(plan_.output.count(), 1, args.worker, args.workers);
    for (int64_t i = range.begin; i < range.end; ++i) {
      const T result = Op<T>::finish(reduce_run(args.inputs[0] + plan_.kept.position(i)), plan_.reduced_count);
      store(&result, i, 1, args.outputs[0]);
    }
  }

 private:
  using Acc = typename Op<T>::Acc;

  Acc reduce_run(const std::byte* base) const {
    constexpr int64_t kLanes = 8;  // independent sums, for the processor to add at once
    alignas(64) std::byte stage[kChunk * 8];
    Acc lanes[kLanes];
    std::fill_n(lanes, kLanes, Op<T>::start());
    Acc total = Op<T>::start();
    for (int64_t at = 0; at < plan_.reduced_count; at += kChunk) {
      const int64_t count = std::min(kChunk, plan_.reduced_count - at);
      const T* x = static_cast<const T*>(plan_.row.read(base, at, count, stage));
      int64_t i = 0;
      for (; i + kLanes <= count; i += kLanes)
        for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = Op<T>::add(lanes[lane], x[i + lane]);
      for (; i < count; ++i) total = Op<T>::add(total, x[i]);
    }
    return combine(total, lanes, kLanes);
  }

  static Acc combine(Acc total, const Acc* lanes, int64_t count) {
    for (int64_t lane = 0; lane < count; ++lane) {
      if constexpr (std::is_base_of_v<Max<T>, Op<T>>) {
        total = Op<T>::add(total, lanes[lane]);
      } else if constexpr (std::is_same_v<Op<T>, Prod<T>>) {
        total *= lanes[lane];
      } else {
        total += lanes[lane];
      }
    }
    return total;
  }

  // The kept axes end in a row of `row.count()` outputs that lie side by side in the input.
  void run_blocks(const RunArgs& args) const {
    const int64_t width = plan_.row.walk().count();
    const int64_t blocks = (width + kBlock - 1) / kBlock;
    const Range range = share(plan_.kept.count() * blocks, 1, args.worker, args.workers);
    alignas(64) std::byte stage[kChunk * 8];
    Acc sums[kBlock];
    T results[kBlock];
    for (int64_t at = range.begin; at < range.end; ++at) {
      const std::byte* base = args.inputs[0] + plan_.kept.position(at / blocks);
      const int64_t begin = at % blocks * kBlock, count = std::min(kBlock, width - begin);
      std::fill_n(sums, count, Op<T>::start());
      for (int64_t r = 0; r < plan_.reduced_count; ++r) {
        const T* x = static_cast<const T*>(plan_.row.read(base + plan_.reduced.position(r), begin, count, stage));
        for (int64_t i = 0; i < count; ++i) sums[i] = Op<T>::add(sums[i], x[i]);
      }
      for (int64_t i = 0; i < count; ++i) results[i] = Op<T>::finish(sums[i], plan_.reduced_count);
      store(results, at / blocks * width + begin, count, args.outputs[0]);
    }
  }

  void store(const T* results, int64_t at, int64_t count, std::byte* base) const {
    const int64_t element = static_cast<int64_t>(plan_.output.element());
    if (plan_.output.dense()) return plan_.narrow(results, base + at * element, count);
    alignas(64) std::byte stage[kBlock * 8];
    plan_.narrow(results, stage, count);
    plan_.output.scatter(stage, at, count, base);
  }

  ReducePlan plan_;
};

// Reductions that are computed in f64 and then cast: log_sum_exp, and those that leave the integers. One output at a
// time.
template <class T>
class RealKernel final : public Kernel {
 public:
  RealKernel(uint32_t op, const ReducePlan& plan) : op_(op), plan_(plan) {}
  uint32_t max_workers() const override { return workers_for(plan_.output.count() * plan_.reduced_count * 8); }
  void run(const RunArgs& args) const noexcept override {
    const Range range = share(plan_.output.count(), 1, args.worker, args.workers);
    for (int64_t i = range.begin; i < range.end; ++i) {
      const double result = reduce(args.inputs[0] + plan_.kept.position(i));
      std::byte narrow[8];
      plan_.narrow(&result, narrow, 1);
      plan_.output.scatter(narrow, i, 1, args.outputs[0]);
    }
  }

 private:
  template <class Visit>
  void for_each(const std::byte* base, const Visit& visit) const {
    alignas(64) std::byte stage[kChunk * 8];
    for (int64_t at = 0; at < plan_.reduced_count; at += kChunk) {
      const int64_t count = std::min(kChunk, plan_.reduced_count - at);
      const T* x = static_cast<const T*>(plan_.row.read(base, at, count, stage));
      for (int64_t i = 0; i < count; ++i) visit(static_cast<double>(x[i]));
    }
  }
  double reduce(const std::byte* base) const {
    if (op_ == BP_OP_REDUCE_LOG_SUM_EXP) return log_sum_exp(base);
    const bool squares = op_ == BP_OP_REDUCE_L2;
    double sum = 0;
    for_each(base, [&](double x) { sum += squares ? x * x : x; });
    return squares ? std::sqrt(sum) : std::log(sum);
  }
  // As m + log(sum(exp(x - m))).
  double log_sum_exp(const std::byte* base) const {
    double largest = Max<double>::start();
    for_each(base, [&](double x) { largest = Max<double>::add(largest, x); });
    if (!std::isfinite(largest)) return largest;  // NaN, infinite, or over nothing
    double sum = 0;
    for_each(base, [&](double x) { sum += std::exp(x - largest); });
    return largest + std::log(sum);
  }

  uint32_t op_;
  ReducePlan plan_;
};

bool is_real(uint32_t op, uint32_t dtype) {
  return op == BP_OP_REDUCE_LOG_SUM_EXP || (is_integer(dtype) && (op == BP_OP_REDUCE_L2 || op == BP_OP_REDUCE_LOG_SUM));
}

template <class T>
std::unique_ptr<Kernel> make_kernel(uint32_t op, const ReducePlan& plan) {
  switch (op) {
    case BP_OP_REDUCE_SUM:
      return std::make_unique<ReduceKernel<T, Sum>>(plan);
    case BP_OP_REDUCE_MEAN:
      return std::make_unique<ReduceKernel<T, Mean>>(plan);
    case BP_OP_REDUCE_MAX:
      return std::make_unique<ReduceKernel<T, Max>>(plan);
    case BP_OP_REDUCE_MIN:
      return std::make_unique<ReduceKernel<T, Min>>(plan);
    case BP_OP_REDUCE_PROD:
      return std::make_unique<ReduceKernel<T, Prod>>(plan);
    case BP_OP_REDUCE_L1:
      return std::make_unique<ReduceKernel<T, L1>>(plan);
    case BP_OP_REDUCE_SUM_SQUARE:
      return std::make_unique<ReduceKernel<T, SumSquare>>(plan);
    case BP_OP_REDUCE_LOG_SUM_EXP:
      return std::make_unique<RealKernel<T>>(op, plan);
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (op == BP_OP_REDUCE_L2) return std::make_unique<ReduceKernel<T, L2>>(plan);
    return op == BP_OP_REDUCE_LOG_SUM ? std::make_unique<ReduceKernel<T, LogSum>>(plan) : nullptr;
  } else {
    return is_real(op, BP_TYPE_I64) ? std::make_unique<RealKernel<T>>(op, plan) : nullptr;
  }
}

std::unique_ptr<Kernel> make_bool_kernel(uint32_t op, const ReducePlan& plan) {
  if (op == BP_OP_REDUCE_MAX) return std::make_unique<ReduceKernel<uint8_t, Max>>(plan);
  if (op == BP_OP_REDUCE_MIN) return std::make_unique<ReduceKernel<uint8_t, Min>>(plan);
  return nullptr;
}

// The extremum of nothing for integers: the lowest or highest value of the element type, not of the compute type.
class FillKernel final : public Kernel {
 public:
  FillKernel(const TensorView& y, double value) : output_(y) {
    narrow_function(Compute::kF64, y.dtype())(&value, &value_, 1);
  }
  uint32_t max_workers() const override { return 1; }
  void run(const RunArgs& args) const noexcept override {
    for (int64_t i = 0; i < output_.count(); ++i)
      output_.scatter(reinterpret_cast<const std::byte*>(&value_), i, 1, args.outputs[0]);
  }

 private:
  Walk output_;
  uint64_t value_ = 0;
};

// The axes of one tensor that a walk goes over.
struct AxisList {
  std::vector<int64_t> shape, strides;
  void add(const TensorView& x, uint32_t axis) {
    shape.push_back(x.shape()[axis]);
    strides.push_back(x.strides()[axis]);
  }
  Walk walk(size_t element) const { return Walk(shape, strides, element); }
};

std::vector<bool> reduced_axes(const NodeView& node) {
  const uint32_t rank = node.input(0).rank();
  std::vector<bool> reduced(rank, false);
  for (const int64_t axis : node.i64s(BP_ATTR_AXES)) {
    require(axis >= 0 && axis < rank && !reduced[axis], "the axes must be distinct axes of the input");
    reduced[axis] = true;
  }
  return reduced;
}

void check_output(const NodeView& node, const std::vector<bool>& reduced) {
  const TensorView x = node.input(0), y = node.output(0);
  const bool keep = node.i64(BP_ATTR_KEEPDIMS, 1) != 0;
  std::vector<int64_t> wanted;
  for (uint32_t axis = 0; axis < x.rank(); ++axis) {
    if (!reduced[axis]) {
      wanted.push_back(x.shape()[axis]);
    } else if (keep) {
      wanted.push_back(1);
    }
  }
  check_shape(y, wanted);
  check_type(y, y.dtype() == x.dtype(), "the type of input 0");
}

ReducePlan make_plan(const NodeView& node, const std::vector<bool>& reduced) {
  const TensorView x = node.input(0), y = node.output(0);
  const size_t element = element_bytes(x.dtype());
  const bool real = is_real(node.op(), x.dtype());
  AxisList kept, gone, row;
  int64_t nearest = -1;  // the kept axis that is innermost, if no reduced axis with elements is further in
  for (uint32_t axis = 0; axis < x.rank(); ++axis)
    if (x.shape()[axis] > 1) nearest = reduced[axis] ? -1 : static_cast<int64_t>(axis);
  ReducePlan plan;
  plan.block = nearest >= 0 && !real;
  for (uint32_t axis = 0; axis < x.rank(); ++axis) {
    if (reduced[axis]) {
      gone.add(x, axis);
    } else if (plan.block && static_cast<int64_t>(axis) == nearest) {
      row.add(x, axis);
    } else {
      kept.add(x, axis);
    }
  }
  plan.kept = kept.walk(element);
  plan.reduced = gone.walk(element);
  plan.row = ChunkReader(x.dtype(), plan.block ? row.walk(element) : plan.reduced);
  plan.reduced_count = plan.reduced.count();
  plan.output = Walk(y);
  plan.narrow = narrow_function(real ? Compute::kF64 : compute_of(x.dtype()), y.dtype());
  return plan;
}

}  // namespace

Prepared prepare_reduce(const NodeView& node) {
  check_signature(node, 1, 1, 1, {BP_ATTR_AXES, BP_ATTR_KEEPDIMS});
  const std::vector<bool> reduced = reduced_axes(node);
  check_output(node, reduced);
  const TensorView x = node.input(0);
  const ReducePlan plan = make_plan(node, reduced);
  const bool extremum = node.op() == BP_OP_REDUCE_MAX || node.op() == BP_OP_REDUCE_MIN;
  if (extremum && plan.reduced_count == 0 && is_integer(x.dtype())) {
    const double infinity = std::numeric_limits<double>::infinity();
    return {std::make_unique<FillKernel>(node.output(0), node.op() == BP_OP_REDUCE_MAX ? -infinity : infinity), {}, 0};
  }
  std::unique_ptr<Kernel> kernel;
  switch (compute_of(x.dtype())) {
    case Compute::kF32:
      kernel = make_kernel<float>(node.op(), plan);
      break;
    case Compute::kF64:
      kernel = make_kernel<double>(node.op(), plan);
      break;
    case Compute::kI64:
      kernel = make_kernel<int64_t>(node.op(), plan);
      break;
    case Compute::kU64:
      kernel = make_kernel<uint64_t>(node.op(), plan);
      break;
    case Compute::kBool:
      kernel = make_bool_kernel(node.op(), plan);
      break;
    default:
      break;
  }
  check_type(x, kernel != nullptr, "another for this op");
  return {std::move(kernel), {}, 0};
}

}  // namespace backplane_cpu
