#include "graph_maker.hpp"

#include <bit>
#include <cstdio>
#include <cstdlib>

namespace backplane::testing {
namespace {

// Returns the value, or says what is wrong with the generator and aborts.
template <class T>
T must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "generator: %s\n", result.status().to_string().c_str());
    std::abort();
  }
  return std::move(result).value();
}

}  // namespace

int64_t GraphMaker::pick(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
}

int64_t GraphMaker::pick_log(int64_t low, int64_t high) {
  const int low_bits = std::bit_width(static_cast<uint64_t>(low)),
            high_bits = std::bit_width(static_cast<uint64_t>(high));
  const int64_t top = int64_t{1} << pick(low_bits, high_bits);
  return std::min(high, std::max(low, pick(top / 2, top - 1)));
}

HostTensor GraphMaker::values(const Shape& shape, bool odd) {
  HostTensor tensor = must(HostTensor::zeros(DType::kI32, shape));
  for (int64_t i = 0; i < tensor.elements(); ++i)
    tensor.mutable_data<int32_t>()[i] = static_cast<int32_t>(static_cast<uint32_t>(random_()) | (odd ? 1u : 0u));
  return tensor;
}

TensorId GraphMaker::input(const Shape& shape) {
  const std::string name = prefix_ + "in" + std::to_string(inputs_.size());
  inputs_[name] = values(shape, false);
  return must(builder_.input(name, DType::kI32, shape));
}

TensorId GraphMaker::weight(const Shape& shape) { return must(builder_.constant(values(shape, true))); }

TensorId GraphMaker::state(const Shape& shape) {
  return must(builder_.state(prefix_ + "state" + std::to_string(states_++), DType::kI32, shape));
}

TensorId GraphMaker::indices(int64_t count, int64_t extent) {
  HostTensor tensor = must(HostTensor::zeros(DType::kI32, Shape{count}));
  for (int64_t i = 0; i < count; ++i) tensor.mutable_data<int32_t>()[i] = static_cast<int32_t>(pick(0, extent - 1));
  return must(builder_.constant(std::move(tensor)));
}

TensorId GraphMaker::op(Op op, std::vector<TensorId> inputs, const AttrList& attrs, std::string name) {
  return must(builder_.op(op, inputs, attrs, std::move(name)));
}

TensorId GraphMaker::concat(const std::vector<TensorId>& parts, int64_t axis) {
  return op(Op::kCONCAT, parts, {{BP_ATTR_AXIS, axis}});
}

TensorId GraphMaker::reduce(TensorId x, int64_t axis) {
  return op(Op::kREDUCE_SUM, {x}, {{BP_ATTR_AXES, std::vector<int64_t>{axis}}});
}

TensorId GraphMaker::gather(TensorId x, TensorId rows) {
  return op(Op::kGATHER, {x, rows}, {{BP_ATTR_AXIS, int64_t{0}}});
}

TensorId GraphMaker::slice(TensorId x, int64_t axis, int64_t start, int64_t count, int64_t step) {
  return must(builder_.slice(x, axis, start, count, step));
}

TensorId GraphMaker::reshape(TensorId x, const Shape& shape) { return must(builder_.reshape(x, shape)); }

TensorId GraphMaker::transpose(TensorId x) { return must(builder_.permute(x, Shape{1, 0})); }

TensorId GraphMaker::broadcast(TensorId x, const Shape& shape) { return must(builder_.broadcast(x, shape)); }

TensorId GraphMaker::fit_axis(TensorId x, int64_t axis, int64_t extent) {
  const int64_t found = shape(x)[static_cast<size_t>(axis)];
  if (found == extent) return x;
  if (found < extent) return slice(x, axis, pick(0, found - 1), 1);  // broadcast later
  if (extent == 0) return slice(x, axis, 0, 0);
  const int64_t step = pick(1, extent == 1 ? 1 : std::max<int64_t>(1, (found - 1) / (extent - 1)));
  return slice(x, axis, pick(0, found - 1 - (extent - 1) * step), extent, step);
}

TensorId GraphMaker::fit(TensorId x, const Shape& wanted) {
  if (elements(x) == 0) return reshape(x, wanted);
  for (int64_t axis = 0; axis < 2; ++axis) x = fit_axis(x, axis, wanted[static_cast<size_t>(axis)]);
  return shape(x) == wanted ? x : broadcast(x, wanted);
}

TensorId GraphMaker::store(TensorId target, Op op, const std::vector<TensorId>& inputs) {
  return must(builder_.node_into(target, op, inputs));
}

int64_t GraphMaker::elements(TensorId x) const {
  int64_t count = 1;
  for (const int64_t extent : shape(x)) count *= extent;
  return count;
}

void GraphMaker::output(TensorId x) {
  if (!builder_.output(x, prefix_ + "out" + std::to_string(outputs_++)).ok()) std::abort();
}

GeneratedGraph GraphMaker::finish() { return {must(builder_.finish()), std::move(inputs_)}; }

}  // namespace backplane::testing
