// softmax, log_softmax, hardmax over any axis, f32 and f64: vectors along the axis if it is dense, across columns if
// another axis is; anything else is gathered into scratch row by row.
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include <cmath>
#include <limits>

#include "kernels/families.hpp"
#include "kernels/operand.hpp"

namespace backplane_cpu {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
constexpr int64_t kLanes = HWY_LANES(T);

// e^v that keeps NaN.
template <class D, class V>
V exponential(D d, V v) {
  return hn::IfThenElse(hn::IsNaN(v), v, hn::Exp(d, v));
}

// The larger; NaN if either is NaN.
template <class V>
V larger(V a, V b) {
  return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
}

template <class T>
T max_of(const T* x, int64_t count) {
  const hn::ScalableTag<T> d;
  T best = -std::numeric_limits<T>::infinity();
  int64_t i = 0;
  if (count >= kLanes<T>) {
    auto best_lanes = hn::LoadU(d, x);
    for (; i + kLanes<T> <= count; i += kLanes<T>) best_lanes = larger(best_lanes, hn::LoadU(d, x + i));
    alignas(64) T lanes[kLanes<T>];
    hn::Store(best_lanes, d, lanes);
    for (const T value : lanes)
      if (value > best || value != value) best = value;
  }
  for (; i < count; ++i)
    if (x[i] > best || x[i] != x[i]) best = x[i];
  return best;
}

// Returns Σ e^(x − max); stores the terms in y unless y is null. Blocks are summed in double.
template <class T>
double exponentials(const T* x, int64_t count, T max, T* y) {
  const hn::ScalableTag<T> d;
  const auto shift = hn::Set(d, max);
  double total = 0;
  int64_t i = 0;
  while (i + kLanes<T> <= count) {
    auto sum = hn::Zero(d);
    for (int64_t step = 0; step < 64 && i + kLanes<T> <= count; ++step, i += kLanes<T>) {
      const auto term = exponential(d, hn::Sub(hn::LoadU(d, x + i), shift));
      if (y != nullptr) hn::StoreU(term, d, y + i);
      sum = hn::Add(sum, term);
    }
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
  }
  for (; i < count; ++i) {
    const T term = std::exp(x[i] - max);
    if (y != nullptr) y[i] = term;
    total += static_cast<double>(term);
  }
  return total;
}

template <class T>
void softmax_row(const T* x, int64_t count, T* y) {
  const T factor = static_cast<T>(1 / exponentials(x, count, max_of(x, count), y));
  const hn::ScalableTag<T> d;
  int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) hn::StoreU(hn::Mul(hn::LoadU(d, y + i), hn::Set(d, factor)), d, y + i);
  for (; i < count; ++i) y[i] *= factor;
}

template <class T>
void log_softmax_row(const T* x, int64_t count, T* y) {
  const T max = max_of(x, count);
  const T log_sum = static_cast<T>(std::log(exponentials<T>(x, count, max, nullptr)));
  for (int64_t i = 0; i < count; ++i) y[i] = (x[i] - max) - log_sum;
}

template <class T>
void hardmax_row(const T* x, int64_t count, T* y) {
  const T max = max_of(x, count);
  int64_t first = 0;
  while (first + 1 < count && x[first] != max && (max == max || x[first] == x[first])) ++first;
  for (int64_t i = 0; i < count; ++i) y[i] = i == first ? 1 : 0;
}

enum class Kind { kSoftmax, kLogSoftmax, kHardmax };

struct SoftmaxPlan {
  Kind kind = Kind::kSoftmax;
  Operand x, y;  // without the axis
  int64_t count = 0, x_stride = 0, y_stride = 0;
  int64_t rows = 1;
  bool columns = false;  // the innermost remaining axis is dense in x and y, the axis is not
};

template <class T>
class SoftmaxKernel final : public Kernel {
 public:
  explicit SoftmaxKernel(SoftmaxPlan plan) : plan_(std::move(plan)) {}
  size_t scratch_bytes(uint32_t workers) const override { return workers * worker_bytes(); }
  uint32_t max_workers() const override { return worth_workers(8 * plan_.rows * plan_.count); }
  void run(const RunArgs& args) const noexcept override {
    if (plan_.count == 0 || plan_.rows == 0) return;
    T* scratch = reinterpret_cast<T*>(args.scratch + args.worker * worker_bytes());
    const Range range = share(plan_.rows, plan_.columns ? kLanes<T> : 1, args.worker, args.workers);
    const int64_t inner = plan_.columns ? plan_.x.shape.back() : 1;
    for (int64_t row = range.begin; row < range.end;) {
      const T* x = input_data<T>(args, 0) + offset_of(plan_.x, 0, plan_.x.rank(), row);
      T* y = output_data<T>(args, 0) + offset_of(plan_.y, 0, plan_.y.rank(), row);
      const int64_t left = std::min(range.end - row, inner - row % inner);
      if (plan_.columns && left >= kLanes<T>) {
        run_columns(x, y);
        row += kLanes<T>;
      } else {
        run_row(x, y, scratch);
        ++row;
      }
    }
  }

 private:
  size_t worker_bytes() const {
    return plan_.x_stride == 1 && plan_.y_stride == 1 ? 0
                                                      : (static_cast<size_t>(plan_.count) * sizeof(T) + 63) / 64 * 64;
  }

  void run_row(const T* x, T* y, T* scratch) const {
    const int64_t count = plan_.count;
    if (plan_.x_stride != 1)
      for (int64_t i = 0; i < count; ++i) scratch[i] = x[i * plan_.x_stride];
    const T* from = plan_.x_stride != 1 ? scratch : x;
    T* to = plan_.y_stride != 1 ? scratch : y;
    switch (plan_.kind) {
      case Kind::kSoftmax:
        softmax_row(from, count, to);
        break;
      case Kind::kLogSoftmax:
        log_softmax_row(from, count, to);
        break;
      case Kind::kHardmax:
        hardmax_row(from, count, to);
        break;
    }
    if (plan_.y_stride != 1)
      for (int64_t i = 0; i < count; ++i) y[i * plan_.y_stride] = scratch[i];
  }

  // As many neighbouring columns as a vector has lanes, each a softmax of its own.
  void run_columns(const T* x, T* y) const {
    const hn::ScalableTag<T> d;
    auto max = hn::LoadU(d, x);
    for (int64_t i = 1; i < plan_.count; ++i) max = larger(max, hn::LoadU(d, x + i * plan_.x_stride));
    auto sum = hn::Zero(d);
    for (int64_t i = 0; i < plan_.count; ++i) {
      const auto term = exponential(d, hn::Sub(hn::LoadU(d, x + i * plan_.x_stride), max));
      if (plan_.kind == Kind::kSoftmax) hn::StoreU(term, d, y + i * plan_.y_stride);
      sum = hn::Add(sum, term);
    }
    alignas(64) T logs[kLanes<T>];
    hn::Store(sum, d, logs);
    for (T& value : logs) value = std::log(value);
    const auto log_sum = hn::Load(d, logs);
    for (int64_t i = 0; i < plan_.count; ++i) {
      T* target = y + i * plan_.y_stride;
      if (plan_.kind == Kind::kSoftmax) {
        hn::StoreU(hn::Div(hn::LoadU(d, target), sum), d, target);
      } else {
        hn::StoreU(hn::Sub(hn::Sub(hn::LoadU(d, x + i * plan_.x_stride), max), log_sum), d, target);
      }
    }
  }

  SoftmaxPlan plan_;
};

Operand without_axis(Operand operand, uint32_t axis) {
  operand.shape.erase(operand.shape.begin() + axis);
  operand.strides.erase(operand.strides.begin() + axis);
  return operand;
}

SoftmaxPlan plan_softmax(const NodeView& node, const Operand& x, const Operand& y) {
  SoftmaxPlan plan;
  plan.kind = node.op() == BP_OP_SOFTMAX       ? Kind::kSoftmax
              : node.op() == BP_OP_LOG_SOFTMAX ? Kind::kLogSoftmax
                                               : Kind::kHardmax;
  const int64_t last = x.rank() - 1;
  const auto axis = static_cast<uint32_t>(want_i64(node, BP_ATTR_AXIS, "axis", last, 0, last));
  plan.count = x.shape[axis];
  plan.x_stride = x.strides[axis];
  plan.y_stride = y.strides[axis];
  plan.x = without_axis(x, axis);
  plan.y = without_axis(y, axis);
  for (const int64_t extent : plan.x.shape) plan.rows *= extent;
  plan.columns = plan.kind != Kind::kHardmax && (plan.x_stride != 1 || plan.y_stride != 1) && plan.x.rank() > 0 &&
                 plan.x.strides.back() == 1 && plan.y.strides.back() == 1;
  return plan;
}

}  // namespace

Prepared prepare_softmax(const NodeView& node) {
  return refuse_on_error([&]() -> Prepared {
    want_counts(node, 1, 1);
    want_attrs(node, {BP_ATTR_AXIS});
    const Operand x = input_operand(node, 0, "x"), y = output_operand(node, 0, "y");
    want_float(node, x, "x");
    want_type(node, y, "y", x.dtype);
    want_shape(node, y, "y", x.shape);
    want_rank(node, x, "x", 1, UINT32_MAX);
    SoftmaxPlan plan = plan_softmax(node, x, y);
    if (x.dtype == BP_TYPE_F64) return {std::make_unique<SoftmaxKernel<double>>(std::move(plan)), {}, 1};
    return {std::make_unique<SoftmaxKernel<float>>(std::move(plan)), {}, 1};
  });
}

}  // namespace backplane_cpu
