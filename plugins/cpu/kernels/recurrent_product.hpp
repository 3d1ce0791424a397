// out[j, i] += Σ w[i, k]·x[j, k]: products of rows with rows, which a recurrent step needs without packing.
#pragma once

#include <hwy/highway.h>

#include <cstdint>

namespace backplane_cpu {

// `count` rows of unit stride, `stride` elements apart.
template <class T>
struct Rows {
  const T* data;
  int64_t stride;
  int64_t count;
};

namespace recurrent_detail {

namespace hn = hwy::HWY_NAMESPACE;

// A kW x kX block: every vector loaded is used kW or kX times.
template <int kW, int kX, class T>
void add_block(const T* w, int64_t w_stride, const T* x, int64_t x_stride, int64_t depth, T* out, int64_t out_stride) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  hn::Vec<decltype(d)> sums[kX][kW];
  for (auto& row : sums)
    for (auto& sum : row) sum = hn::Zero(d);
  int64_t k = 0;
  for (; k + kLanes <= depth; k += kLanes) {
    hn::Vec<decltype(d)> weights[kW];
#pragma GCC unroll 4
    for (int i = 0; i < kW; ++i) weights[i] = hn::LoadU(d, w + i * w_stride + k);
#pragma GCC unroll 4
    for (int j = 0; j < kX; ++j) {
      const auto value = hn::LoadU(d, x + j * x_stride + k);
#pragma GCC unroll 4
      for (int i = 0; i < kW; ++i) sums[j][i] = hn::MulAdd(weights[i], value, sums[j][i]);
    }
  }
  for (int j = 0; j < kX; ++j) {
    for (int i = 0; i < kW; ++i) {
      T sum = hn::GetLane(hn::SumOfLanes(d, sums[j][i]));
      for (int64_t tail = k; tail < depth; ++tail) sum += w[i * w_stride + tail] * x[j * x_stride + tail];
      out[j * out_stride + i] += sum;
    }
  }
}

template <int kW, class T>
void add_rows(const T* w, int64_t w_stride, const Rows<T>& x, int64_t depth, T* out, int64_t out_stride) {
  int64_t j = 0;
  for (; j + 3 <= x.count; j += 3)
    add_block<kW, 3>(w, w_stride, x.data + j * x.stride, x.stride, depth, out + j * out_stride, out_stride);
  for (; j < x.count; ++j)
    add_block<kW, 1>(w, w_stride, x.data + j * x.stride, x.stride, depth, out + j * out_stride, out_stride);
}

}  // namespace recurrent_detail

template <class T>
void add_products(const Rows<T>& w, const Rows<T>& x, int64_t depth, T* out, int64_t out_stride) {
  int64_t i = 0;
  for (; i + 4 <= w.count; i += 4)
    recurrent_detail::add_rows<4>(w.data + i * w.stride, w.stride, x, depth, out + i, out_stride);
  for (; i < w.count; ++i)
    recurrent_detail::add_rows<1>(w.data + i * w.stride, w.stride, x, depth, out + i, out_stride);
}

}  // namespace backplane_cpu
