#include "kernels/tuples.hpp"

namespace backplane_cpu {

Tuples::Tuples(const TensorView& x, const TensorView& indices, uint32_t batch_dims) : reader_(indices) {
  const auto length = static_cast<size_t>(indices.shape().back());
  const size_t element = element_bytes(x.dtype());
  batch_ = Walk(x.shape().first(batch_dims), x.strides().first(batch_dims), element);
  block_ = Walk(x.shape().subspan(batch_dims + length), x.strides().subspan(batch_dims + length), element);
  const auto shape = x.shape().subspan(batch_dims, length), strides = x.strides().subspan(batch_dims, length);
  extents_.assign(shape.begin(), shape.end());
  strides_.assign(strides.begin(), strides.end());
  for (const int64_t extent : indices.shape().first(indices.rank() - 1)) count_ *= extent;
  per_batch_ = batch_.count() == 0 ? 0 : count_ / batch_.count();
}

int64_t Tuples::offset(const std::byte* indices, int64_t tuple) const {
  const auto length = static_cast<int64_t>(extents_.size());
  alignas(64) std::byte stage[kChunk * 8];
  const auto* index = static_cast<const int64_t*>(reader_.read(indices, tuple * length, length, stage));
  int64_t offset = batch_.position(tuple / per_batch_);
  for (int64_t i = 0; i < length; ++i) {
    const int64_t at = index[i] < 0 ? index[i] + extents_[i] : index[i];
    if (at < 0 || at >= extents_[i]) return -1;
    offset += at * strides_[i];
  }
  return offset;
}

}  // namespace backplane_cpu
