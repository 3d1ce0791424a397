// matmul, gemm, matmul_integer and matmul_id.
#include "backplane/base/text.hpp"
#include "call.hpp"
#include "iteration.hpp"
#include "values.hpp"

namespace backplane::reference {
namespace {

// y[m, n] += a[m, k] * b[k, n], dense. Products are added in the order of k.
template <class V>
void multiply_add(const V* a, const V* b, V* y, int64_t m_count, int64_t k_count, int64_t n_count) {
  for (int64_t m = 0; m < m_count; ++m)
    for (int64_t k = 0; k < k_count; ++k) {
      const V factor = a[m * k_count + k];
      for (int64_t n = 0; n < n_count; ++n)
        y[m * n_count + n] = add(y[m * n_count + n], multiply(factor, b[k * n_count + n]));
    }
}

template <class V>
Outputs product_of(const Call& call, const std::vector<V>& a, const std::vector<V>& b, Shape b_shape) {
  Shape a_shape = call.input(0).shape();
  if (a_shape.size() == 1) a_shape.insert(a_shape.begin(), 1);
  if (b_shape.size() == 1) b_shape.push_back(1);
  const int64_t m_count = a_shape[a_shape.size() - 2];
  const int64_t k_count = a_shape.back();
  const int64_t n_count = b_shape.back();
  const std::span<const int64_t> a_batch(a_shape.data(), a_shape.size() - 2);
  const std::span<const int64_t> b_batch(b_shape.data(), b_shape.size() - 2);
  const size_t batch_rank = std::max(a_batch.size(), b_batch.size());
  const Shape batch(call.output().shape.begin(), call.output().shape.begin() + static_cast<int64_t>(batch_rank));

  std::vector<V> y(static_cast<size_t>(product(call.output().shape)));
  V* to = y.data();
  walk(batch, std::array{broadcast_strides(a_batch, batch), broadcast_strides(b_batch, batch)},
       [&](const std::array<int64_t, 2>& at) {
         multiply_add(a.data() + at[0] * m_count * k_count, b.data() + at[1] * k_count * n_count, to, m_count, k_count,
                      n_count);
         to += m_count * n_count;
       });
  return single(store(call.output(), y));
}

template <class V>
Outputs gemm(const Call& call) {
  const Shape& shape = call.output().shape;
  const double alpha = call.attrs.f64(BP_ATTR_ALPHA, 1);
  const double beta = call.attrs.f64(BP_ATTR_BETA, 1);
  const std::vector<V> a = load<V>(call.input(0));
  const std::vector<V> b = load<V>(call.input(1));
  std::vector<V> y(static_cast<size_t>(product(shape)));
  multiply_add(a.data(), b.data(), y.data(), shape[0], call.input(0).shape()[1], shape[1]);
  for (V& value : y) value = scale(value, alpha);
  if (call.has(2)) {
    const std::vector<V> c = load<V>(call.input(2));
    auto value = y.begin();
    walk(shape, std::array{broadcast_strides(call.input(2).shape(), shape)}, [&](const std::array<int64_t, 1>& at) {
      *value = add(*value, scale(c[static_cast<size_t>(at[0])], beta));
      ++value;
    });
  }
  return single(store(call.output(), y));
}

// Blocks, with the axes of each matrix exchanged: they lie along the summed axis.
std::vector<double> transposed_blocks(const HostTensor& x) {
  const int64_t k_count = x.shape().back(), n_count = x.shape()[x.shape().size() - 2];
  const std::vector<double> rows = load<double>(x);
  std::vector<double> b(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto at = static_cast<int64_t>(i), matrix = at / (n_count * k_count), n = at / k_count % n_count;
    b[static_cast<size_t>((matrix * k_count + at % k_count) * n_count + n)] = rows[i];
  }
  return b;
}

// a · bᵀ.
Outputs block_product(const Call& call) {
  Shape shape = call.input(1).shape();
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return product_of(call, load<double>(call.input(0)), transposed_blocks(call.input(1)), std::move(shape));
}

// Each row times the matrix that its id names.
Outputs product_by_id(const Call& call) {
  const HostTensor &x = call.input(0), &w = call.input(1);
  const std::vector<double> rows = load<double>(x);
  const std::vector<double> matrices = is_plain(w.dtype()) ? load<double>(w) : transposed_blocks(w);
  const std::vector<int64_t> ids = load<int64_t>(call.input(2));
  const int64_t count = w.shape()[0], k = x.shape().back(), n = call.output().shape.back();
  const Shape rows_shape(x.shape().begin(), x.shape().end() - 1);
  std::vector<double> y(static_cast<size_t>(product(call.output().shape)));
  Status status;
  double* to = y.data();
  auto id = ids.begin();
  walk(call.input(2).shape(), std::array{broadcast_strides(rows_shape, call.input(2).shape())},
       [&](const std::array<int64_t, 1>& at) {
         const int64_t matrix = *id < 0 ? *id + count : *id;
         if (matrix < 0 || matrix >= count)
           status = out_of_range(cat("matmul_id: id ", *id, " names none of the ", count, " matrices of input 1"));
         else
           multiply_add(rows.data() + at[0] * k, matrices.data() + matrix * k * n, to, 1, k, n);
         to += n;
         ++id;
       });
  if (!y.empty()) BP_TRY(status);  // where nothing is computed, no id is looked at
  return single(store(call.output(), y));
}

}  // namespace

Outputs linear(const Call& call) {
  if (call.op == Op::kMATMUL_INTEGER)
    return product_of(call, without_zero_point(call, 0), without_zero_point(call, 1), call.input(1).shape());
  if (call.op == Op::kMATMUL_ID) return product_by_id(call);
  if (call.op == Op::kMATMUL && !is_plain(call.input(1).dtype())) return block_product(call);
  return with_domain(call.input(0).dtype(), [&](auto domain) -> Outputs {
    using V = decltype(domain);
    if (call.op == Op::kMATMUL)
      return product_of(call, load<V>(call.input(0)), load<V>(call.input(1)), call.input(1).shape());
    if (call.op == Op::kGEMM) return gemm<V>(call);
    return no_definition(call.op);
  });
}

}  // namespace backplane::reference
