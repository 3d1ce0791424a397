// Formula: ops emitted one after another, of which only the first failure counts; for lowerings that are arithmetic.
// After a failure nothing is emitted and every result is kNone. Thread safety: as its emitter.
#pragma once

#include <initializer_list>
#include <vector>

#include "emitter.hpp"

namespace backplane::onnx_import {

class Formula {
 public:
  using Shape = std::vector<int64_t>;

  explicit Formula(Emitter& emit) : emit_(emit) {}

  TensorId op(Op op, std::initializer_list<TensorId> inputs, const AttrList& attrs = {});
  TensorId scalar(DType dtype, double value);
  TensorId list(DType dtype, const std::vector<double>& values);  // rank 1
  TensorId cast(TensorId x, DType dtype);
  TensorId reduce(Op op, TensorId x, const Shape& axes, bool keepdims);
  TensorId reshape(TensorId x, const Shape& shape);
  TensorId permute(TensorId x, const Shape& order);
  TensorId broadcast(TensorId x, const Shape& shape);
  TensorId slice(TensorId x, int64_t axis, int64_t start, int64_t count, int64_t step = 1);

  // ---- elementwise, broadcasting; a number becomes a scalar of the tensor's type
  TensorId add(TensorId a, TensorId b) { return op(Op::kADD, {a, b}); }
  TensorId add(TensorId a, double b) { return add(a, like(a, b)); }
  TensorId sub(TensorId a, TensorId b) { return op(Op::kSUB, {a, b}); }
  TensorId mul(TensorId a, TensorId b) { return op(Op::kMUL, {a, b}); }
  TensorId mul(TensorId a, double b) { return mul(a, like(a, b)); }
  TensorId div(TensorId a, TensorId b) { return op(Op::kDIV, {a, b}); }
  TensorId clip(TensorId x, double low, double high) { return op(Op::kCLIP, {x, like(x, low), like(x, high)}); }
  TensorId compare(Op op, TensorId a, double b) { return this->op(op, {a, like(a, b)}); }
  TensorId like(TensorId x, double value);

  Shape shape(TensorId x) const { return status_.ok() ? emit_.shape(x) : Shape(); }
  DType dtype(TensorId x) const { return status_.ok() ? emit_.dtype(x) : DType::kF32; }
  // The result, or the first failure.
  Result<TensorId> result(TensorId made) const;
  const Status& status() const { return status_; }

 private:
  TensorId keep(Result<TensorId> made);

  Emitter& emit_;
  Status status_;
};

}  // namespace backplane::onnx_import
