// Emitter: a GraphBuilder that folds. An op whose inputs are all constant becomes a constant; so shape arithmetic
// vanishes while a model is imported, and lowerings are written once.
//
// It also knows where every tensor comes from: from constants, from *candidates* (small inputs whose value
// may be baked in) or from run-time data. Asking for the constant value of a tensor that only candidates stand before
// records those candidates as needed. Thread safety: one emitter, one thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/builder.hpp"

namespace backplane::onnx_import {

// Id of the failure of `constant` that importing again with the needed candidates baked in cures.
inline constexpr std::string_view kNeedsValueId = "onnx.needs-value";

class Emitter {
 public:
  // `folded_elements`: how many elements folding may touch in all; then ops on constants stay ops.
  explicit Emitter(int64_t folded_elements) : foldable_elements_(folded_elements) {}

  // ---- leaves
  // `candidate`: a number of the caller's if the input's value may be baked in later, else -1.
  Result<TensorId> input(const std::string& name, DType dtype, std::span<const int64_t> shape, int64_t candidate);
  Result<TensorId> constant(HostTensor value, std::string name = {});
  // A scalar constant, converted to dtype as `cast` does.
  Result<TensorId> scalar(DType dtype, double value);
  Result<TensorId> i64s(std::span<const int64_t> values);  // rank 1
  // Before a lowering computes a constant of so many elements itself: counts them as folding does. Errors:
  // resource_exhausted beyond what folding may make.
  Status claim(int64_t elements);

  // ---- ops
  Result<TensorId> op(Op op, std::span<const TensorId> inputs, const AttrList& attrs = {});
  Result<TensorId> op(Op op, std::initializer_list<TensorId> inputs, const AttrList& attrs = {}) {
    return this->op(op, std::span(inputs.begin(), inputs.size()), attrs);
  }
  Result<std::vector<TensorId>> node(Op op, std::span<const TensorId> inputs, const AttrList& attrs,
                                     std::span<const bool> wanted);
  // Nodes made from now on get this name.
  void set_node_name(std::string name) { node_name_ = std::move(name); }
  const std::string& node_name() const { return node_name_; }

  // ---- views
  Result<TensorId> reshape(TensorId x, std::span<const int64_t> shape);
  Result<TensorId> permute(TensorId x, std::span<const int64_t> order);
  Result<TensorId> slice(TensorId x, int64_t axis, int64_t start, int64_t count, int64_t step = 1);
  Result<TensorId> broadcast(TensorId x, std::span<const int64_t> shape);

  // ---- questions
  DType dtype(TensorId x) const { return builder_.dtype(x); }
  std::vector<int64_t> shape(TensorId x) const { return builder_.shape(x); }
  int64_t rank(TensorId x) const { return static_cast<int64_t>(shape(x).size()); }
  bool is_constant(TensorId x) const;
  // The dense value. Errors: failed_precondition with kNeedsValueId; unimplemented if run-time data stands before x.
  Result<HostTensor> constant_value(TensorId x);
  const std::set<uint32_t>& needed_candidates() const { return needed_; }

  GraphBuilder& builder() { return builder_; }

 private:
  struct Origin {
    bool runtime = true;
    std::set<uint32_t> candidates;  // meaningful if not runtime
    bool is_folded = true;          // false: an op on constants that was too big to evaluate stands before it
  };
  void track(TensorId made, Origin origin);
  Result<TensorId> view(TensorId x, Result<TensorId> made);
  Origin origin_of(std::span<const TensorId> inputs) const;
  Origin origin_of_op(std::span<const TensorId> inputs) const;  // one that was not folded
  // Whether the op is evaluated now; false too where the result would be too big to keep as a constant.
  bool folds(Op op, std::span<const TensorId> inputs, const AttrList& attrs);
  Result<std::vector<HostTensor>> evaluate(Op op, std::span<const TensorId> inputs, const AttrList& attrs) const;

  GraphBuilder builder_;
  std::vector<Origin> origins_;
  std::set<uint32_t> needed_;
  int64_t foldable_elements_;
  std::string node_name_;
};

}  // namespace backplane::onnx_import
