// Call: one evaluation of one op, and the op families that compute it. Internal to core/reference.
//
// Families may rely on `infer` having accepted the call: arity, types, shapes and attribute values are valid.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backplane/graph/attrs.hpp"
#include "backplane/graph/host_tensor.hpp"
#include "backplane/graph/inference.hpp"

namespace backplane::reference {

struct Call {
  Op op;
  std::span<const HostTensor> given;
  const AttrList& attrs;
  std::span<const TensorSpec> outputs;

  bool has(size_t index) const { return index < given.size() && !given[index].is_null(); }
  // REQUIRES: has(index).
  const HostTensor& input(size_t index) const { return given[index]; }
  const TensorSpec& output() const { return outputs[0]; }
  // The list attribute, or `count` times the fallback if it is absent.
  std::vector<int64_t> list(uint32_t key, size_t count, int64_t fallback) const {
    return attrs.has(key) ? attrs.i64s(key) : std::vector<int64_t>(count, fallback);
  }
};

using Outputs = Result<std::vector<HostTensor>>;

Outputs movement(const Call& call);
Outputs resize(const Call& call);
Outputs indexing(const Call& call);  // gather_elements, gather_nd, scatter_elements, scatter_nd
Outputs unary(const Call& call);
Outputs binary(const Call& call);
Outputs reduction(const Call& call);
Outputs set_rows(const Call& call);
Outputs ordering(const Call& call);  // cum_sum, top_k, sort
Outputs linear(const Call& call);
Outputs convolution(const Call& call);
Outputs im2col(const Call& call);
Outputs pooling(const Call& call);
Outputs normalization(const Call& call);
Outputs recurrent(const Call& call);
Outputs rope(const Call& call);
Outputs attention(const Call& call);
Outputs quantization(const Call& call);

// The integers of operand 0 or 1 of a quantised product, less those of its zero point at `operand` + 2.
std::vector<int64_t> without_zero_point(const Call& call, size_t operand);

// "matmul: the reference evaluator has no definition of this op".
Status no_definition(Op op);

// The one-output form of Outputs.
inline Outputs single(Result<HostTensor> value) {
  BP_TRY_ASSIGN(HostTensor tensor, std::move(value));
  return std::vector<HostTensor>{std::move(tensor)};
}

}  // namespace backplane::reference
