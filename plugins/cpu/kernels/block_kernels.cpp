// cast and matmul of block-quantised tensors, and which other ops take them.
#include <array>
#include <cstring>

#include "kernels/blocks.hpp"
#include "kernels/checks.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/families.hpp"
#include "kernels/gemm.hpp"
#include "kernels/operand.hpp"
#include "kernels/staged.hpp"

namespace backplane_cpu {
namespace {

class DecodeKernel final : public Kernel {
 public:
  DecodeKernel(const TensorView& x, const TensorView& y)
      : block_(sdk::type_layout(x.dtype()).block_elements),
        decode_(decode_function(x.dtype())),
        narrow_(narrow_function(Compute::kF32, y.dtype())),
        from_(x),
        to_(y) {}
  uint32_t max_workers() const override { return workers_for(to_.count()); }
  void run(const RunArgs& args) const noexcept override {
    alignas(64) float values[kMaxBlock];
    alignas(64) std::byte narrow[kMaxBlock * 8];
    const Range range = share(from_.count(), 16, args.worker, args.workers);
    for (int64_t i = range.begin; i < range.end; ++i) {
      decode_(args.inputs[0] + from_.position(i), values);
      narrow_(values, narrow, block_);
      to_.scatter(narrow, i * block_, block_, args.outputs[0]);
    }
  }

 private:
  const int64_t block_;
  DecodeFn decode_;
  ConvertFn narrow_;
  Walk from_, to_;
};

class EncodeKernel final : public Kernel {
 public:
  EncodeKernel(const TensorView& x, const TensorView& y)
      : block_(sdk::type_layout(y.dtype()).block_elements),
        compute_(compute_of(x.dtype())),
        from_(x),
        encode_(encode_function(y.dtype())),
        to_(y) {}
  uint32_t max_workers() const override { return workers_for(4 * to_.count() * block_); }
  void run(const RunArgs& args) const noexcept override {
    alignas(64) std::byte stage[kChunk * 8];
    const Range range = share(to_.count(), 4, args.worker, args.workers);
    for (int64_t i = range.begin; i < range.end; ++i) {
      const void* elements = from_.read(args.inputs[0], i * block_, block_, stage);
      encode_block(encode_, compute_, elements, block_, args.outputs[0] + to_.position(i));
    }
  }

 private:
  const int64_t block_;
  const Compute compute_;
  ChunkReader from_;
  EncodeFn encode_;
  Walk to_;
};

Prepared prepare_block_cast(const NodeView& node) {
  check_signature(node, 1, 1, 1, {BP_ATTR_TO});
  const TensorView x = node.input(0), y = node.output(0);
  check_shape(y, x.shape());
  require(node.i64(BP_ATTR_TO, y.dtype()) == y.dtype(), "attribute `to` must be the output's type");
  if (is_block(x.dtype())) {
    check_blocks(x);
    check_type(y, is_float(y.dtype()), "a float type");
    return {std::make_unique<DecodeKernel>(x, y), {}, 0};
  }
  check_blocks(y);
  check_type(x, is_float(x.dtype()), "a float type");
  return {std::make_unique<EncodeKernel>(x, y), {}, 0};
}

// y[batch, m, n] = sum over k of a[batch, m, k] · b[batch, n, k]: a panel of rows of b is decoded, and then used for
// all rows of a.
class BlockProduct final : public Kernel {
 public:
  BlockProduct(const NodeView& node, std::span<const int64_t> batch)
      : decode_(decode_function(node.input(1).dtype())),
        block_(sdk::type_layout(node.input(1).dtype()).block_elements) {
    const TensorView a = node.input(0), b = node.input(1), y = node.output(0);
    const uint32_t a_axes = a.rank() > 1 ? a.rank() - 2 : 0;
    k_ = a.shape().back();
    n_ = b.shape()[b.rank() - 2];
    m_ = a.rank() > 1 ? a.shape()[a_axes] : 1;
    a_row_ = a.rank() > 1 ? a.strides()[a_axes] : 0;
    a_column_ = a.strides().back();
    b_row_ = b.strides()[b.rank() - 2];
    b_block_ = b.strides().back();
    y_row_ = a.rank() > 1 ? y.strides()[y.rank() - 2] : 0;
    y_column_ = y.strides().back();
    a_batch_ = batch_walk(a, a_axes, batch);
    b_batch_ = batch_walk(b, b.rank() - 2, batch);
    y_batch_ = batch_walk(y, static_cast<uint32_t>(batch.size()), batch);
  }
  size_t scratch_bytes(uint32_t workers) const override { return workers * per_worker(); }
  uint32_t max_workers() const override { return worth_workers((m_ + 4) * n_ * k_ * y_batch_.count()); }

  void run(const RunArgs& args) const noexcept override {
    auto* rows = reinterpret_cast<float*>(args.scratch + args.worker * per_worker());
    const int64_t panels = (n_ + kPanel - 1) / kPanel;
    const Range range = share(y_batch_.count() * panels, 1, args.worker, args.workers);
    for (int64_t i = range.begin; i < range.end; ++i) {
      const int64_t batch = i / panels, first = i % panels * kPanel, count = std::min(kPanel, n_ - first);
      const std::byte* b = args.inputs[1] + b_batch_.position(batch) + first * b_row_;
      for (int64_t row = 0; row < count; ++row)
        for (int64_t k = 0; k < k_; k += block_) decode_(b + row * b_row_ + k / block_ * b_block_, rows + row * k_ + k);
      multiply(args.inputs[0] + a_batch_.position(batch), rows, count,
               args.outputs[0] + y_batch_.position(batch) + first * y_column_);
    }
  }

 private:
  static constexpr int64_t kPanel = 16;  // rows

  static Walk batch_walk(const TensorView& tensor, uint32_t axes, std::span<const int64_t> batch) {
    std::vector<int64_t> strides(batch.size(), 0);
    for (uint32_t axis = 0; axis < axes; ++axis)
      if (tensor.shape()[axis] != 1) strides[batch.size() - axes + axis] = tensor.strides()[axis];
    return Walk(batch, strides, 1);
  }
  size_t per_worker() const { return (static_cast<size_t>((kPanel + 1) * k_) * sizeof(float) + 63) / 64 * 64; }

  // `rows` has room for one more, which takes a row of a that is not dense.
  void multiply(const std::byte* a, float* rows, int64_t count, std::byte* y) const {
    float* staged = rows + kPanel * k_;
    float sums[kPanel];
    for (int64_t m = 0; m < m_; ++m, a += a_row_, y += y_row_) {
      const float* row = reinterpret_cast<const float*>(a);
      if (a_column_ != sizeof(float) && k_ > 1) {
        for (int64_t k = 0; k < k_; ++k) std::memcpy(staged + k, a + k * a_column_, sizeof(float));
        row = staged;
      }
      gemv(row, {rows, 1, k_}, k_, 0, count, sums);
      for (int64_t n = 0; n < count; ++n) std::memcpy(y + n * y_column_, sums + n, sizeof(float));
    }
  }

  DecodeFn decode_;
  const int64_t block_;
  int64_t m_ = 1, n_ = 0, k_ = 0;
  int64_t a_row_ = 0, a_column_ = 0, b_row_ = 0, b_block_ = 0, y_row_ = 0, y_column_ = 0;  // bytes
  Walk a_batch_, b_batch_, y_batch_;
};

std::vector<int64_t> batch_of(std::span<const int64_t> a, std::span<const int64_t> b) {
  std::vector<int64_t> batch(std::max(a.size(), b.size()), 1);
  for (size_t i = 1; i <= batch.size(); ++i) {
    const int64_t x = i <= a.size() ? a[a.size() - i] : 1, y = i <= b.size() ? b[b.size() - i] : 1;
    require(x == y || x == 1 || y == 1, "the batch axes of a and b do not broadcast");
    batch[batch.size() - i] = x == 1 ? y : x;
  }
  return batch;
}

Prepared prepare_block_matmul(const NodeView& node) {
  check_signature(node, 2, 2, 1);
  const TensorView a = node.input(0), b = node.input(1), y = node.output(0);
  check_blocks(b);
  check_type(a, a.dtype() == BP_TYPE_F32, "f32");
  check_type(y, y.dtype() == BP_TYPE_F32, "f32");
  require(b.rank() >= 2 && a.rank() >= 1, "matmul wants b with 2 axes or more, a with 1 or more");
  require(a.shape().back() == b.shape().back(), "a and b differ in the summed axis");
  const auto a_batch = a.shape().first(a.rank() > 1 ? a.rank() - 2 : 0);
  const std::vector<int64_t> batch = batch_of(a_batch, b.shape().first(b.rank() - 2));
  require(batch.size() + 2 <= kMaxRank, "too many axes");
  std::vector<int64_t> wanted = batch;
  if (a.rank() > 1) wanted.push_back(a.shape()[a.rank() - 2]);
  wanted.push_back(b.shape()[b.rank() - 2]);
  check_shape(y, wanted);
  return {std::make_unique<BlockProduct>(node, batch), {}, 0};
}

}  // namespace

bool has_blocks(const NodeView& node) {
  for (uint32_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && is_block(node.input(i).dtype())) return true;
  for (uint32_t i = 0; i < node.output_count(); ++i)
    if (node.has_output(i) && is_block(node.output(i).dtype())) return true;
  return false;
}

Prepared prepare_blocks(const NodeView& node) {
  switch (node.op()) {
    case BP_OP_CAST:
      return prepare_block_cast(node);
    case BP_OP_GATHER:
      return prepare_gather(node);
    case BP_OP_SET_ROWS:
      return prepare_set_rows(node);
    case BP_OP_MATMUL:
      return prepare_widened(node, prepare_block_matmul);
    case BP_OP_MATMUL_ID:
      return prepare_matmul_id(node);
    default:
      refuse(std::string("op ") + sdk::op_name(node.op()) + " has no kernel for block-quantised tensors");
  }
}

}  // namespace backplane_cpu
