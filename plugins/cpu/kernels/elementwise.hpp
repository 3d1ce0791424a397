// ElementwiseKernel: applies a function of dense chunks to tensors of any type, stride and broadcast.
//
// An operand whose memory already is a dense run of the compute type is used in place; any other is gathered and
// converted into a chunk that stays in the L1 cache. So an op needs one function per compute type and nothing else.
#pragma once

#include <array>
#include <vector>

#include "kernels/convert.hpp"
#include "kernels/walk.hpp"

namespace backplane_cpu {

inline constexpr int64_t kChunk = 512;  // elements
inline constexpr uint32_t kMaxOperands = 3;

// What a chunk function gets. The output may be the same memory as an input, element for element.
struct Chunk {
  std::array<const void*, kMaxOperands> in;  // null = absent input
  void* out;
  int64_t count;
  std::array<double, 2> params;  // the op's attributes
};
using ChunkFn = void (*)(const Chunk& chunk);

// One tensor as chunks of its compute type.
class ChunkReader {
 public:
  ChunkReader() = default;
  ChunkReader(const TensorView& tensor, std::span<const int64_t> shape);
  explicit ChunkReader(const TensorView& tensor) : ChunkReader(tensor, tensor.shape()) {}
  explicit ChunkReader(uint32_t dtype, const Walk& walk);
  const Walk& walk() const { return walk_; }
  bool in_place() const { return native_ && walk_.dense(); }
  // Address of the elements [begin, begin + count) as a dense run, count <= kChunk: in place, or in `stage`, which
  // holds kChunk elements of 8 bytes.
  const void* read(const std::byte* base, int64_t begin, int64_t count, std::byte* stage) const;

 private:
  Walk walk_;
  ConvertFn widen_ = nullptr;
  bool native_ = true;
};

class ElementwiseKernel final : public Kernel {
 public:
  // Every present input is broadcast to the output's shape. `result` is what `function` writes: the output's compute
  // type, or f64, which is then cast.
  ElementwiseKernel(const NodeView& node, Compute result, ChunkFn function, std::array<double, 2> params = {});
  uint32_t max_workers() const override;
  void run(const RunArgs& args) const noexcept override;

 private:
  void write(const void* result, std::byte* base, int64_t begin, int64_t count) const;

  std::vector<ChunkReader> inputs_;  // one per input; unused if absent
  Walk output_;
  ConvertFn narrow_;
  bool output_in_place_;
  bool output_native_;
  ChunkFn function_;
  std::array<double, 2> params_;
};

// Workers worth waking for `work` element operations.
inline uint32_t workers_for(int64_t work) {
  constexpr int64_t kPerWorker = 16384;
  return static_cast<uint32_t>(std::clamp<int64_t>(work / kPerWorker, 1, UINT32_MAX));
}

}  // namespace backplane_cpu
