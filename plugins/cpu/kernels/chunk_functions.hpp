// Making chunk functions of small lambdas: a captureless lambda becomes a loop over a dense chunk.
#pragma once

#include <cstring>

#include "kernels/elementwise.hpp"

namespace backplane_cpu {

using Params = std::array<double, 2>;

// f(x, params) for every element; T in, R out.
template <class T, class R = T, class F>
ChunkFn map(F) {
  return [](const Chunk& chunk) {
    const T* x = static_cast<const T*>(chunk.in[0]);
    R* y = static_cast<R*>(chunk.out);
    for (int64_t i = 0; i < chunk.count; ++i) y[i] = static_cast<R>(F{}(x[i], chunk.params));
  };
}

// f(a, b) for every pair of elements.
template <class A, class R = A, class B = A, class F>
ChunkFn zip(F) {
  return [](const Chunk& chunk) {
    const A* a = static_cast<const A*>(chunk.in[0]);
    const B* b = static_cast<const B*>(chunk.in[1]);
    R* y = static_cast<R*>(chunk.out);
    for (int64_t i = 0; i < chunk.count; ++i) y[i] = static_cast<R>(F{}(a[i], b[i]));
  };
}

}  // namespace backplane_cpu
