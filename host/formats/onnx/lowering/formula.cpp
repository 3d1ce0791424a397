#include "lowering/formula.hpp"

namespace backplane::onnx_import {

TensorId Formula::keep(Result<TensorId> made) {
  if (made.ok()) return *made;
  status_ = made.status();
  return kNone;
}

TensorId Formula::op(Op op, std::initializer_list<TensorId> inputs, const AttrList& attrs) {
  return status_.ok() ? keep(emit_.op(op, inputs, attrs)) : kNone;
}

TensorId Formula::scalar(DType dtype, double value) { return status_.ok() ? keep(emit_.scalar(dtype, value)) : kNone; }

TensorId Formula::list(DType dtype, const std::vector<double>& values) {
  if (!status_.ok()) return kNone;
  const auto count = static_cast<int64_t>(values.size());
  return cast(keep(emit_.constant(HostTensor::of<double>(DType::kF64, {count}, std::span<const double>(values)))),
              dtype);
}

TensorId Formula::cast(TensorId x, DType dtype) {
  if (!status_.ok() || emit_.dtype(x) == dtype) return x;
  return op(Op::kCAST, {x}, {{BP_ATTR_TO, static_cast<int64_t>(dtype)}});
}

TensorId Formula::reduce(Op op, TensorId x, const Shape& axes, bool keepdims) {
  return this->op(op, {x}, {{BP_ATTR_AXES, axes}, {BP_ATTR_KEEPDIMS, int64_t{keepdims}}});
}

TensorId Formula::reshape(TensorId x, const Shape& shape) {
  return status_.ok() ? keep(emit_.reshape(x, shape)) : kNone;
}

TensorId Formula::permute(TensorId x, const Shape& order) {
  return status_.ok() ? keep(emit_.permute(x, order)) : kNone;
}

TensorId Formula::broadcast(TensorId x, const Shape& shape) {
  return status_.ok() ? keep(emit_.broadcast(x, shape)) : kNone;
}

TensorId Formula::slice(TensorId x, int64_t axis, int64_t start, int64_t count, int64_t step) {
  return status_.ok() ? keep(emit_.slice(x, axis, start, count, step)) : kNone;
}

TensorId Formula::like(TensorId x, double value) { return status_.ok() ? scalar(emit_.dtype(x), value) : kNone; }

Result<TensorId> Formula::result(TensorId made) const {
  BP_TRY(status_);
  return made;
}

}  // namespace backplane::onnx_import
