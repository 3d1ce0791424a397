// matmul and gemm: f32 through Gemm, or gemv for a single row or column; f64 and integers through plain loops.
#include <cmath>
#include <type_traits>

#include "kernels/families.hpp"
#include "kernels/gemm.hpp"
#include "kernels/operand.hpp"

namespace backplane_cpu {
namespace {

// y[batch, M, N] = alpha·a·b + beta·c over broadcast batch axes. Strides are in elements.
struct Product {
  int64_t m = 1, n = 1, k = 0;
  int64_t batch_count = 1;
  std::vector<int64_t> batch;                                // extents
  std::vector<int64_t> a_batch, b_batch, y_batch;            // strides
  int64_t a_row = 0, a_column = 0, b_row = 0, b_column = 0;  // strides
  int64_t y_row = 0, y_column = 0, c_row = 0, c_column = 0;
  bool has_c = false;
  double alpha = 1, beta = 1;

  int64_t batch_offset(const std::vector<int64_t>& strides, int64_t index) const {
    int64_t offset = 0;
    for (size_t axis = batch.size(); axis-- > 0; index /= batch[axis]) offset += index % batch[axis] * strides[axis];
    return offset;
  }
  int64_t operations() const { return batch_count * m * n * k; }
};

bool all_zero(const std::vector<int64_t>& strides) {
  return std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride == 0; });
}

// The same product with its result transposed: rows become columns.
void transpose(Product& p) {
  std::swap(p.m, p.n);
  std::swap(p.a_batch, p.b_batch);
  std::swap(p.a_row, p.b_column);
  std::swap(p.a_column, p.b_row);
  std::swap(p.y_row, p.y_column);
  std::swap(p.c_row, p.c_column);
}

// Folds batch axes of a into its rows where b is the same for all of them: one large product instead of many.
void fold_batch(Product& p) {
  while (!p.batch.empty() && p.b_batch.back() == 0 && !p.has_c) {
    const bool rows_follow =
        p.batch.back() == 1 || p.m == 1 || (p.a_batch.back() == p.m * p.a_row && p.y_batch.back() == p.m * p.y_row);
    if (!rows_follow) return;
    if (p.m == 1 && p.batch.back() != 1) p.a_row = p.a_batch.back(), p.y_row = p.y_batch.back();
    p.m *= p.batch.back();
    p.batch_count /= std::max<int64_t>(p.batch.back(), 1);
    for (auto* list : {&p.batch, &p.a_batch, &p.b_batch, &p.y_batch}) list->pop_back();
  }
}

class GemmKernel final : public Kernel {
 public:
  explicit GemmKernel(Product product) : p_(std::move(product)) {
    shared_a_ = all_zero(p_.a_batch);
    gemm_ = Gemm({p_.m, p_.n, p_.k, shared_a_ ? 1 : p_.batch_count, shared_a_ ? p_.batch_count : 1,
                  static_cast<float>(p_.alpha), static_cast<float>(p_.beta)});
  }
  uint32_t phases() const override { return gemm_.phases(); }
  size_t scratch_bytes(uint32_t workers) const override { return gemm_.scratch_bytes(workers); }
  uint32_t max_workers() const override { return gemm_.max_workers(); }
  void run(const RunArgs& args) const noexcept override {
    gemm_.run(Source(*this, args), args.scratch, args.phase, args.worker, args.workers);
  }
  void swap_inputs() { a_input_ = 1, b_input_ = 0; }

 private:
  class Source final : public GemmSource {
   public:
    Source(const GemmKernel& kernel, const RunArgs& args) : kernel_(kernel), p_(kernel.p_), args_(args) {}
    ConstMatrix a(int64_t item) const override {
      const float* data = input_data<float>(args_, kernel_.a_input_);
      return {data + (kernel_.shared_a_ ? 0 : p_.batch_offset(p_.a_batch, item)), p_.a_row, p_.a_column};
    }
    GemmUnit unit(int64_t item, int64_t repeat) const override {
      const int64_t index = kernel_.shared_a_ ? repeat : item;
      GemmUnit unit;
      unit.b = {input_data<float>(args_, kernel_.b_input_) + p_.batch_offset(p_.b_batch, index), p_.b_row, p_.b_column};
      unit.c = {output_data<float>(args_, 0) + p_.batch_offset(p_.y_batch, index), p_.y_row, p_.y_column};
      if (p_.has_c) unit.base = {input_data<float>(args_, 2), p_.c_row, p_.c_column};
      return unit;
    }

   private:
    const GemmKernel& kernel_;
    const Product& p_;
    const RunArgs& args_;
  };

  Product p_;
  bool shared_a_ = false;
  uint32_t a_input_ = 0, b_input_ = 1;
  Gemm gemm_;
};

// One row per batch entry, without base.
class GemvKernel final : public Kernel {
 public:
  GemvKernel(Product product, bool swapped) : p_(std::move(product)), swapped_(swapped) {}
  uint32_t max_workers() const override { return worth_workers(p_.operations()); }
  void run(const RunArgs& args) const noexcept override {
    const auto* a = input_data<float>(args, swapped_ ? 1 : 0);
    const auto* b = input_data<float>(args, swapped_ ? 0 : 1);
    auto* y = output_data<float>(args, 0);
    const Range range = share(p_.batch_count * p_.n, 16, args.worker, args.workers);
    for (int64_t index = range.begin; index < range.end;) {
      const int64_t batch = index / p_.n;
      const int64_t begin = index % p_.n;
      const int64_t end = std::min(p_.n, begin + range.end - index);
      gemv(a + p_.batch_offset(p_.a_batch, batch), {b + p_.batch_offset(p_.b_batch, batch), p_.b_row, p_.b_column},
           p_.k, begin, end, y + p_.batch_offset(p_.y_batch, batch));
      index += end - begin;
    }
  }
  static bool suits(const Product& p) {
    return p.m == 1 && !p.has_c && p.alpha == 1 && (p.a_column == 1 || p.k == 1) && (p.y_column == 1 || p.n == 1) &&
           (p.b_column == 1 || p.b_row == 1);
  }

 private:
  Product p_;
  bool swapped_;
};

// Any strides, any arithmetic type; integers wrap, so the unsigned type of the width serves both signs.
template <class T>
class PlainProduct final : public Kernel {
 public:
  explicit PlainProduct(Product product) : p_(std::move(product)) {}
  uint32_t max_workers() const override { return worth_workers(p_.operations()); }
  void run(const RunArgs& args) const noexcept override {
    const Range range = share(p_.batch_count * p_.m, 1, args.worker, args.workers);
    for (int64_t row = range.begin; row < range.end; ++row)
      for (int64_t n = 0; n < p_.n; n += kBlock) run_block(args, row / p_.m, row % p_.m, n, std::min(kBlock, p_.n - n));
  }

 private:
  static constexpr int64_t kBlock = 64;

  static T factor(double value) {
    if constexpr (std::is_floating_point_v<T>)
      return value;
    else
      return static_cast<T>(static_cast<int64_t>(value));
  }
  void run_block(const RunArgs& args, int64_t batch, int64_t m, int64_t n, int64_t count) const {
    const T* a = input_data<T>(args, 0) + p_.batch_offset(p_.a_batch, batch) + m * p_.a_row;
    const T* b = input_data<T>(args, 1) + p_.batch_offset(p_.b_batch, batch) + n * p_.b_column;
    T* y = output_data<T>(args, 0) + p_.batch_offset(p_.y_batch, batch) + m * p_.y_row + n * p_.y_column;
    T sums[kBlock] = {};
    for (int64_t k = 0; k < p_.k; ++k) {
      const T value = a[k * p_.a_column];
      const T* row = b + k * p_.b_row;
      for (int64_t j = 0; j < count; ++j) sums[j] += value * row[j * p_.b_column];
    }
    for (int64_t j = 0; j < count; ++j) {
      T sum = factor(p_.alpha) * sums[j];
      if (p_.has_c) sum += factor(p_.beta) * input_data<T>(args, 2)[m * p_.c_row + (n + j) * p_.c_column];
      y[j * p_.y_column] = sum;
    }
  }

  Product p_;
};

Prepared make_f32(Product p) {
  fold_batch(p);
  Product swapped = p;
  transpose(swapped);
  if (GemvKernel::suits(p)) return {std::make_unique<GemvKernel>(std::move(p), false), {}, 0};
  if (GemvKernel::suits(swapped)) return {std::make_unique<GemvKernel>(std::move(swapped), true), {}, 0};
  // The tile stores along rows of y, so they should be its unit-stride axis.
  const bool swap = p.y_column != 1 && p.y_row == 1;
  auto kernel = std::make_unique<GemmKernel>(swap ? std::move(swapped) : std::move(p));
  if (swap) kernel->swap_inputs();
  return {std::move(kernel), {}, 0};
}

Prepared make_kernel(const NodeView& node, uint32_t dtype, Product p) {
  switch (dtype) {
    case BP_TYPE_F32:
      return make_f32(std::move(p));
    case BP_TYPE_F64:
      return {std::make_unique<PlainProduct<double>>(std::move(p)), {}, 0};
    case BP_TYPE_I32:
    case BP_TYPE_U32:
      return {std::make_unique<PlainProduct<uint32_t>>(std::move(p)), {}, 0};
    case BP_TYPE_I64:
    case BP_TYPE_U64:
      return {std::make_unique<PlainProduct<uint64_t>>(std::move(p)), {}, 0};
    default:
      refuse_node(node, std::string("a has type ") + sdk::type_name(dtype) + ", wanted f32, f64, i32, i64, u32 or u64");
  }
}

// Strides of `operand`'s leading axes, aligned to the right of `batch`; zero where it broadcasts.
std::vector<int64_t> batch_strides(const Operand& operand, uint32_t axes, size_t batch_rank) {
  std::vector<int64_t> strides(batch_rank - axes, 0);
  for (uint32_t axis = 0; axis < axes; ++axis) strides.push_back(operand.stride(axis));
  return strides;
}

std::vector<int64_t> broadcast_batch(const NodeView& node, const Operand& a, uint32_t a_axes, const Operand& b,
                                     uint32_t b_axes) {
  std::vector<int64_t> batch(std::max(a_axes, b_axes), 1);
  for (size_t i = 1; i <= batch.size(); ++i) {
    const int64_t x = i <= a_axes ? a.shape[a_axes - i] : 1;
    const int64_t y = i <= b_axes ? b.shape[b_axes - i] : 1;
    if (x != y && x != 1 && y != 1)
      refuse_node(node, "batch axes of a " + list_text(a.shape) + " and b " + list_text(b.shape) + " do not broadcast");
    batch[batch.size() - i] = x == 1 ? y : x;
  }
  return batch;
}

Product matmul_product(const NodeView& node, const Operand& a, const Operand& b, const Operand& y) {
  Product p;
  const bool a_row_axis = a.rank() > 1, b_column_axis = b.rank() > 1;
  const uint32_t a_axes = a_row_axis ? a.rank() - 2 : 0;
  const uint32_t b_axes = b_column_axis ? b.rank() - 2 : 0;
  p.k = a.shape.back();
  p.a_column = a.stride(a.rank() - 1);
  if (a_row_axis) p.m = a.shape[a_axes], p.a_row = a.stride(a_axes);
  if (b_column_axis) p.n = b.shape.back(), p.b_column = b.stride(b.rank() - 1);
  p.b_row = b.stride(b_axes);
  if (b.shape[b_axes] != p.k)
    refuse_node(node, "a " + list_text(a.shape) + " and b " + list_text(b.shape) + " differ in the summed axis");
  p.batch = broadcast_batch(node, a, a_axes, b, b_axes);
  std::vector<int64_t> wanted = p.batch;
  if (a_row_axis) wanted.push_back(p.m);
  if (b_column_axis) wanted.push_back(p.n);
  want_shape(node, y, "y", wanted);
  for (const int64_t extent : p.batch) p.batch_count *= extent;
  p.a_batch = batch_strides(a, a_axes, p.batch.size());
  p.b_batch = batch_strides(b, b_axes, p.batch.size());
  p.y_batch = batch_strides(y, static_cast<uint32_t>(p.batch.size()), p.batch.size());
  uint32_t axis = static_cast<uint32_t>(p.batch.size());
  if (a_row_axis) p.y_row = y.stride(axis++);
  if (b_column_axis) p.y_column = y.stride(axis);
  return p;
}

void add_base(const NodeView& node, const Operand& c, Product& p) {
  want_rank(node, c, "c", 0, 2);
  const int64_t extents[2] = {p.m, p.n};
  int64_t strides[2] = {0, 0};
  for (uint32_t axis = 0; axis < c.rank(); ++axis) {
    const uint32_t target = 2 - c.rank() + axis;
    if (c.shape[axis] != 1 && c.shape[axis] != extents[target])
      refuse_node(node,
                  "c has shape " + list_text(c.shape) + ", wanted one that broadcasts to " + list_text({p.m, p.n}));
    strides[target] = c.stride(axis);
  }
  p.has_c = true;
  p.c_row = strides[0];
  p.c_column = strides[1];
}

}  // namespace

Prepared prepare_matmul(const NodeView& node) {
  return refuse_on_error([&] {
    want_counts(node, 2, 1);
    want_attrs(node, {});
    const Operand a = input_operand(node, 0, "a"), b = input_operand(node, 1, "b"), y = output_operand(node, 0, "y");
    want_type(node, b, "b", a.dtype);
    want_type(node, y, "y", a.dtype);
    want_rank(node, a, "a", 1, UINT32_MAX);
    want_rank(node, b, "b", 1, UINT32_MAX);
    return make_kernel(node, a.dtype, matmul_product(node, a, b, y));
  });
}

Prepared prepare_gemm(const NodeView& node) {
  return refuse_on_error([&] {
    want_counts(node, 3, 1);
    want_attrs(node, {BP_ATTR_ALPHA, BP_ATTR_BETA});
    const Operand a = input_operand(node, 0, "a"), b = input_operand(node, 1, "b"), y = output_operand(node, 0, "y");
    const Operand c = input_operand(node, 2, "c", true);
    want_type(node, b, "b", a.dtype);
    want_type(node, c, "c", a.dtype);
    want_type(node, y, "y", a.dtype);
    want_rank(node, a, "a", 2, 2);
    want_rank(node, b, "b", 2, 2);
    Product p = matmul_product(node, a, b, y);
    if (c.present()) add_base(node, c, p);
    p.alpha = node.f64(BP_ATTR_ALPHA, 1);
    p.beta = node.f64(BP_ATTR_BETA, 1);
    const bool integral = a.dtype != BP_TYPE_F32 && a.dtype != BP_TYPE_F64;
    if (integral && (!(std::abs(p.alpha) < 1e15 && std::abs(p.beta) < 1e15) ||
                     p.alpha != static_cast<double>(static_cast<int64_t>(p.alpha)) ||
                     p.beta != static_cast<double>(static_cast<int64_t>(p.beta))))
      refuse_node(node, "integer operands want whole alpha and beta");
    return make_kernel(node, a.dtype, std::move(p));
  });
}

}  // namespace backplane_cpu
