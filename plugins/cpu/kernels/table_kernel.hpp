// TableKernel: moves single elements by per-axis tables of input positions; for pad and for nearest resize.
#pragma once

#include <array>
#include <vector>

#include "kernels/walk.hpp"

namespace backplane_cpu {

inline constexpr int64_t kOutside = -1;  // a place that no input position feeds

class TableKernel final : public Kernel {
 public:
  // `offsets` holds, per axis of the output, the byte offset in input 0 of every place, or kOutside. Places outside
  // get the scalar at input 1 if there is one, else `outside`, an element's bytes.
  TableKernel(std::vector<std::vector<int64_t>> offsets, const TensorView& output, bool has_value,
              std::array<std::byte, 8> outside = {});
  uint32_t max_workers() const override;
  void run(const RunArgs& args) const noexcept override;

 private:
  template <class T>
  void move(const RunArgs& args) const;
  template <class T>
  void fill(const std::byte* input, T outside, int64_t begin, int64_t count, T* to) const;
  int64_t row_offset(int64_t row) const;

  std::vector<std::vector<int64_t>> offsets_;
  Walk output_;
  bool has_value_;
  std::array<std::byte, 8> outside_;
};

}  // namespace backplane_cpu
