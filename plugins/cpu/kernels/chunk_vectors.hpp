// As chunk_functions.hpp, for lambdas over vectors of f32. The last, partial vector goes through a padded copy, so an
// element's result does not depend on where in a chunk it stands.
#pragma once

#include "kernels/chunk_functions.hpp"
#include "kernels/vector_math.hpp"

namespace backplane_cpu {

// f(x, params) for every vector of f32.
template <class F>
ChunkFn map_f32(F) {
  return [](const Chunk& chunk) {
    const F32 d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    const float* x = static_cast<const float*>(chunk.in[0]);
    float* y = static_cast<float*>(chunk.out);
    int64_t i = 0;
    for (; i + lanes <= chunk.count; i += lanes) hn::StoreU(F{}(hn::LoadU(d, x + i), chunk.params), d, y + i);
    if (i == chunk.count) return;
    HWY_ALIGN float tail[hn::MaxLanes(d)] = {};
    const size_t bytes = static_cast<size_t>(chunk.count - i) * sizeof(float);
    std::memcpy(tail, x + i, bytes);
    hn::Store(F{}(hn::Load(d, tail), chunk.params), d, tail);
    std::memcpy(y + i, tail, bytes);
  };
}

// f(a, b) for every pair of vectors of f32.
template <class F>
ChunkFn zip_f32(F) {
  return [](const Chunk& chunk) {
    const F32 d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    const float* a = static_cast<const float*>(chunk.in[0]);
    const float* b = static_cast<const float*>(chunk.in[1]);
    float* y = static_cast<float*>(chunk.out);
    int64_t i = 0;
    for (; i + lanes <= chunk.count; i += lanes) hn::StoreU(F{}(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
    if (i == chunk.count) return;
    HWY_ALIGN float tail_a[hn::MaxLanes(d)] = {};
    HWY_ALIGN float tail_b[hn::MaxLanes(d)] = {};
    const size_t bytes = static_cast<size_t>(chunk.count - i) * sizeof(float);
    std::memcpy(tail_a, a + i, bytes);
    std::memcpy(tail_b, b + i, bytes);
    hn::Store(F{}(hn::Load(d, tail_a), hn::Load(d, tail_b)), d, tail_a);
    std::memcpy(y + i, tail_a, bytes);
  };
}

}  // namespace backplane_cpu
