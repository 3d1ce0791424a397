// attention: blocks of queries go along the keys, a block of them at a time, with a running softmax (Milakov and
// Gimelshein, "Online normalizer calculation for softmax", 2018), so that no row of scores is ever whole in memory. The
// query heads that share a key head are done together: its keys are read once for all of them.

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/checks.hpp"
#include "kernels/chunk_vectors.hpp"
#include "kernels/families.hpp"
#include "kernels/index_checks.hpp"
#include "kernels/operand.hpp"
#include "kernels/small_product.hpp"

namespace backplane_cpu {
namespace {

constexpr int64_t kRows = 32;  // queries of a block
constexpr int64_t kKeys = 64;  // keys of a block

template <class T>
constexpr T kUnseen = -std::numeric_limits<T>::infinity();

template <class T>
T largest_of(const T* x, int64_t count) {  // NaN wins
  T largest = kUnseen<T>;
  for (int64_t i = 0; i < count; ++i)
    if (x[i] > largest || x[i] != x[i]) largest = x[i];
  return largest;
}

template <class T>
double sum_of(const T* x, int64_t count) {
  constexpr int64_t kLanes = 8;  // independent sums, for the processor to add at once
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += x[i + lane];
  double sum = 0;
  for (; i < count; ++i) sum += static_cast<double>(x[i]);
  for (const T lane : lanes) sum += static_cast<double>(lane);
  return sum;
}

// e^(x - params[0]), and params[0]·tanh(x / params[0]).
template <class T>
ChunkFn exponential_function() {
  if constexpr (std::is_same_v<T, float>)
    return map_f32([](VecF32 x, const Params& p) { return exp_f32(hn::Sub(x, set_f32(p[0]))); });
  else
    return map<T>([](T x, const Params& p) { return std::exp(x - p[0]); });
}
template <class T>
ChunkFn softcap_function() {
  if constexpr (std::is_same_v<T, float>)
    return map_f32(
        [](VecF32 x, const Params& p) { return hn::Mul(set_f32(p[0]), tanh_f32(hn::Div(x, set_f32(p[0])))); });
  else
    return map<T>([](T x, const Params& p) { return p[0] * std::tanh(x / p[0]); });
}

// A tensor of rows of some width as T: in memory where its rows are dense, else converted.
template <class T>
class RowReader {
 public:
  explicit RowReader(const TensorView& tensor)
      : reader_(tensor), width_(tensor.shape()[3]), row_stride_(tensor.strides()[2] / kBytes) {
    for (uint32_t axis = 0; axis < 2; ++axis) heads_[axis] = {tensor.shape()[axis], tensor.strides()[axis]};
    in_place_ = is_native(tensor.dtype()) && (width_ == 1 || tensor.strides()[3] == kBytes);
    rows_ = tensor.shape()[2];
  }

  // Rows [first, first + count) of a head (of a flat index), or in `room` for them.
  Matrix<T> rows(const std::byte* base, int64_t head, int64_t first, int64_t count, T* room) const {
    if (in_place_) {
      const std::byte* from =
          base + head / heads_[1].extent * heads_[0].stride + head % heads_[1].extent * heads_[1].stride;
      return {reinterpret_cast<const T*>(from) + first * row_stride_, row_stride_, 1};
    }
    copy(base, (head * rows_ + first) * width_, count * width_, room);
    return {room, width_, 1};
  }
  // Consecutive elements, from a flat index on.
  void copy(const std::byte* base, int64_t begin, int64_t count, T* to) const {
    alignas(64) std::byte stage[kChunk * 8];
    for (int64_t at = 0; at < count; at += kChunk) {
      const int64_t part = std::min(kChunk, count - at);
      std::memcpy(to + at, reader_.read(base, begin + at, part, stage), static_cast<size_t>(part) * sizeof(T));
    }
  }

 private:
  static constexpr int64_t kBytes = sizeof(T);
  struct Axis {
    int64_t extent, stride;
  };
  ChunkReader reader_;
  std::array<Axis, 2> heads_{};
  int64_t rows_ = 0, width_, row_stride_;
  bool in_place_ = false;
};

struct AttentionPlan {
  int64_t batch, heads, rows, depth, key_heads, keys, width;
  bool causal;
  double scale, softcap;
  int64_t group() const { return heads / key_heads; }
  int64_t block_rows() const { return std::min(kRows, group() * rows); }
  int64_t block_keys() const { return std::min(kKeys, keys); }
  // The blocks of one key head.
  int64_t blocks() const { return (group() * rows + kRows - 1) / kRows; }
};

// T is what is computed in. The rows of a block are queries of one group, those of one place side by side: row r is
// query r / group of head r % group.
template <class T>
class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(const NodeView& node, const AttentionPlan& plan)
      : plan_(plan),
        q_(node.input(0)),
        k_(node.input(1)),
        v_(node.input(2)),
        y_(node.output(0)),
        narrow_(narrow_function(compute_of(node.output(0).dtype()), node.output(0).dtype())) {
    if (node.has_input(3)) {
      const std::array shape{plan.batch, plan.heads, plan.rows, plan.keys};
      mask_ = ChunkReader(node.input(3), shape);
      mask_is_bool_ = node.input(3).dtype() == BP_TYPE_BOOL;
      has_mask_ = true;
    }
    if (node.has_input(4)) {
      past_ = ChunkReader(node.input(4), std::array{plan.batch});
      has_past_ = true;
    }
    const int64_t rows = plan.block_rows(), keys = plan.block_keys();
    const ProductShape scores{rows, keys, plan.depth}, sums{rows, plan.width, keys};
    parts_.add(rows * plan.depth * kBytes);                        // queries
    parts_.add(rows * plan.width * kBytes);                        // sums
    parts_.add(rows * plan.width * kBytes);                        // of a block
    parts_.add(rows * keys * kBytes);                              // scores, then weights
    parts_.add(keys * std::max(plan.depth, plan.width) * kBytes);  // keys, then values
    parts_.add(static_cast<int64_t>(std::max(product_scratch_bytes(scores), product_scratch_bytes(sums))));
  }
  size_t scratch_bytes(uint32_t workers) const override { return workers * static_cast<size_t>(parts_.end); }
  uint32_t max_workers() const override {
    return worth_workers(plan_.batch * plan_.heads * plan_.rows * plan_.keys * (plan_.depth + plan_.width));
  }

  void run(const RunArgs& args) const noexcept override {
    if (y_.count() == 0) return;
    for (int64_t b = 0; b < plan_.batch && has_past_; ++b)
      if (const int64_t past = past_of(args, b); past < 0 || past > plan_.keys - plan_.rows)
        return args.error->store("past and the new keys must fit into the keys");
    const int64_t blocks = plan_.blocks();
    const Range range = share(plan_.batch * plan_.key_heads * blocks, 1, args.worker, args.workers);
    for (int64_t i = range.begin; i < range.end; ++i) attend(args, i / blocks, i % blocks * kRows);
  }

 private:
  static constexpr int64_t kBytes = sizeof(T);

  // Where the parts of a worker's scratch begin.
  struct Parts {
    std::array<int64_t, 6> begin{};
    size_t count = 0;
    int64_t end = 0;
    void add(int64_t bytes) {
      begin[count++] = end;
      end += (bytes + 63) / 64 * 64;
    }
  };

  // Rows [first, first + rows) of a group in work.
  struct Block {
    int64_t head;  // of keys, flat
    int64_t first, rows, past, live;
    std::array<T, kRows> largest;     // of each row's scores so far
    std::array<double, kRows> total;  // of its weights
    T *queries, *sums, *more, *scores, *room;
    std::byte* gemm;
  };

  int64_t past_of(const RunArgs& args, int64_t batch) const {
    int64_t past = 0;
    alignas(64) std::byte stage[8];
    if (has_past_) std::memcpy(&past, past_.read(args.inputs[4], batch, 1, stage), sizeof past);
    return past;
  }
  // Of a row of a block: its place among the new queries, and the index of its row in q, mask and y.
  int64_t place(const Block& block, int64_t row) const { return (block.first + row) / plan_.group(); }
  int64_t flat(const Block& block, int64_t row) const {
    const int64_t group = plan_.group(), batch = block.head / plan_.key_heads;
    const int64_t head = block.head % plan_.key_heads * group + (block.first + row) % group;
    return (batch * plan_.heads + head) * plan_.rows + place(block, row);
  }

  Block begin(const RunArgs& args, int64_t head, int64_t first) const {
    std::byte* own = args.scratch + args.worker * static_cast<size_t>(parts_.end);
    const auto part = [&](size_t i) { return reinterpret_cast<T*>(own + parts_.begin[i]); };
    Block block{head,
                first,
                std::min(kRows, plan_.group() * plan_.rows - first),
                0,
                plan_.keys,
                {},
                {},
                part(0),
                part(1),
                part(2),
                part(3),
                part(4),
                own + parts_.begin[5]};
    block.past = past_of(args, head / plan_.key_heads);
    if (has_past_) block.live = block.past + plan_.rows;
    if (plan_.causal) block.live = std::min(block.live, block.past + place(block, block.rows - 1) + 1);
    block.largest.fill(kUnseen<T>);
    for (int64_t row = 0; row < block.rows; ++row)
      q_.copy(args.inputs[0], flat(block, row) * plan_.depth, plan_.depth, block.queries + row * plan_.depth);
    std::fill_n(block.sums, block.rows * plan_.width, T{0});
    return block;
  }

  void attend(const RunArgs& args, int64_t head, int64_t first) const {
    Block block = begin(args, head, first);
    for (int64_t key = 0; key < block.live; key += kKeys) {
      const int64_t count = std::min(kKeys, block.live - key);
      const Matrix<T> keys = k_.rows(args.inputs[1], head, key, count, block.room);
      multiply(block.queries, {keys.data, 1, keys.row_stride}, {block.rows, count, plan_.depth}, block.scores,
               block.gemm);
      for (int64_t row = 0; row < block.rows; ++row) weigh(args, block, row, key, count);
      const Matrix<T> values = v_.rows(args.inputs[2], head, key, count, block.room);
      multiply(block.scores, values, {block.rows, plan_.width, count}, block.more, block.gemm);
      for (int64_t row = 0; row < block.rows; ++row) add(block, row, values, count);
    }
    finish(args, block);
  }

  // Turns a row's scores into weights, and scales what was summed before to them.
  void weigh(const RunArgs& args, Block& block, int64_t row, int64_t key, int64_t count) const {
    T* scores = block.scores + row * count;
    for (int64_t j = 0; j < count; ++j) scores[j] *= static_cast<T>(plan_.scale);
    if (plan_.softcap > 0) softcap_({{scores, nullptr, nullptr}, scores, count, {plan_.softcap, 0}});
    if (has_mask_) mask(args, flat(block, row) * plan_.keys + key, count, scores);
    if (plan_.causal)
      for (int64_t j = std::max<int64_t>(block.past + place(block, row) + 1 - key, 0); j < count; ++j)
        scores[j] = kUnseen<T>;
    const T before = block.largest[row], largest = largest_of(scores, count);
    const T now = largest > before || largest != largest ? largest : before;
    if (now == kUnseen<T>) return std::fill_n(scores, count, T{0}), void();  // has seen nothing yet
    exponential_({{scores, nullptr, nullptr}, scores, count, {static_cast<double>(now), 0}});
    if (now != before) {
      const T factor = std::exp(before - now);
      block.total[row] *= static_cast<double>(factor);
      for (int64_t d = 0; d < plan_.width; ++d) block.sums[row * plan_.width + d] *= factor;
    }
    block.largest[row] = now;
    block.total[row] += sum_of(scores, count);
  }

  void mask(const RunArgs& args, int64_t begin, int64_t count, T* scores) const {
    alignas(64) std::byte stage[kChunk * 8];
    const void* entries = mask_.read(args.inputs[3], begin, count, stage);
    for (int64_t j = 0; j < count; ++j) {
      if (!mask_is_bool_)
        scores[j] += static_cast<const T*>(entries)[j];
      else if (static_cast<const uint8_t*>(entries)[j] == 0)
        scores[j] = kUnseen<T>;
    }
  }

  // Values of weight 0 count for nothing, even if they are not finite: 0 times those would be NaN.
  void add(const Block& block, int64_t row, const Matrix<T>& values, int64_t count) const {
    const T *weights = block.scores + row * count, *more = block.more + row * plan_.width;
    T* sums = block.sums + row * plan_.width;
    for (int64_t d = 0; d < plan_.width; ++d) {
      if (more[d] == more[d]) {
        sums[d] += more[d];
        continue;
      }
      for (int64_t j = 0; j < count; ++j)
        if (weights[j] != 0) sums[d] += weights[j] * values.data[j * values.row_stride + d];
    }
  }

  void finish(const RunArgs& args, const Block& block) const {
    std::byte narrow[kChunk * sizeof(T)];
    for (int64_t row = 0; row < block.rows; ++row) {
      T* sums = block.sums + row * plan_.width;
      const T factor = block.total[row] == 0 ? T{0} : static_cast<T>(1 / block.total[row]);  // 0: it sees nothing
      for (int64_t d = 0; d < plan_.width; ++d) sums[d] *= factor;
      for (int64_t d = 0; d < plan_.width; d += kChunk) {
        const int64_t count = std::min(kChunk, plan_.width - d);
        narrow_(sums + d, narrow, count);
        y_.scatter(narrow, flat(block, row) * plan_.width + d, count, args.outputs[0]);
      }
    }
  }

  AttentionPlan plan_;
  RowReader<T> q_, k_, v_;
  Walk y_;
  ConvertFn narrow_;
  ChunkReader mask_, past_;
  bool has_mask_ = false, mask_is_bool_ = false, has_past_ = false;
  ChunkFn exponential_ = exponential_function<T>(), softcap_ = softcap_function<T>();
  Parts parts_;
};

AttentionPlan read_plan(const NodeView& node) {
  for (uint32_t i = 0; i < 3; ++i) require(node.input(i).rank() == 4, "q, k and v want four axes");
  const std::span<const int64_t> q = node.input(0).shape(), k = node.input(1).shape(), v = node.input(2).shape();
  AttentionPlan plan{q[0], q[1], q[2], q[3], k[1], k[2], v[3], node.i64(BP_ATTR_CAUSAL, 0) != 0, 0, 0};
  plan.scale = node.f64(BP_ATTR_SCALE, 1 / std::sqrt(static_cast<double>(plan.depth)));
  plan.softcap = node.f64(BP_ATTR_SOFTCAP, 0);
  require(plan.key_heads > 0 && plan.heads % plan.key_heads == 0, "the heads of q must be a multiple of those of k");
  check_shape(node.input(1), std::array{plan.batch, plan.key_heads, plan.keys, plan.depth});
  check_shape(node.input(2), std::array{plan.batch, plan.key_heads, plan.keys, plan.width});
  check_shape(node.output(0), std::array{plan.batch, plan.heads, plan.rows, plan.width});
  return plan;
}

}  // namespace

Prepared prepare_attention(const NodeView& node) {
  check_signature(node, 3, 5, 1, {BP_ATTR_CAUSAL, BP_ATTR_SCALE, BP_ATTR_SOFTCAP});
  const TensorView q = node.input(0), k = node.input(1), v = node.input(2), y = node.output(0);
  const bool wide = q.dtype() == BP_TYPE_F64;
  check_type(q, is_float(q.dtype()), "a float type");
  check_type(k, is_float(k.dtype()) && (k.dtype() == BP_TYPE_F64) == wide, "a float type; f64 goes with f64");
  check_type(v, v.dtype() == k.dtype(), "the type of input 1");
  check_type(y, y.dtype() == q.dtype(), "the type of input 0");
  if (node.has_input(3)) {
    const uint32_t dtype = node.input(3).dtype();
    check_type(node.input(3), dtype == BP_TYPE_BOOL || dtype == q.dtype(), "bool or the type of input 0");
  }
  if (node.has_input(4)) check_index_type(node.input(4));
  const AttentionPlan plan = read_plan(node);
  if (wide) return {std::make_unique<AttentionKernel<double>>(node, plan), {}, 0};
  return {std::make_unique<AttentionKernel<float>>(node, plan), {}, 0};
}

}  // namespace backplane_cpu
