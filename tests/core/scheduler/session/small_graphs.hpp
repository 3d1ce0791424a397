// Small graphs of i32 for tests of sessions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backplane/graph/builder.hpp"
#include "backplane/scheduler/session.hpp"

namespace backplane::testing {

inline const std::vector<int64_t> kSmallShape = {2, 3};

inline HostTensor small_values(std::vector<int32_t> list) {
  return HostTensor::of<int32_t>(DType::kI32, kSmallShape, list);
}
inline HostTensor small_value(int32_t value) { return small_values(std::vector<int32_t>(6, value)); }

inline std::vector<int32_t> list_of(const HostTensor& tensor) {
  return {tensor.data<int32_t>(), tensor.data<int32_t>() + tensor.elements()};
}
inline int32_t first_of(const Result<HostTensor>& tensor) { return list_of(tensor.value()).front(); }

// y = x + length, by nodes n0, n1, ... of one addition each.
inline std::shared_ptr<const Graph> adding_chain(int length, std::vector<int64_t> shape = kSmallShape) {
  GraphBuilder builder;
  HostTensor one = HostTensor::zeros(DType::kI32, shape).value();
  for (int64_t i = 0; i < one.elements(); ++i) one.mutable_data<int32_t>()[i] = 1;
  TensorId x = builder.input("x", DType::kI32, shape).value();
  const TensorId c = builder.constant(one, "one").value();
  for (int i = 0; i < length; ++i) x = builder.op(Op::kADD, {x, c}, {}, "n" + std::to_string(i)).value();
  if (!builder.output(x, "y").ok()) return nullptr;
  return builder.finish().value();
}

// Pins n0, n1, ... to the devices in turn.
inline PlanOptions in_turn(int length, uint32_t devices) {
  PlanOptions options;
  for (int i = 0; i < length; ++i)
    options.pins.emplace_back("n" + std::to_string(i), static_cast<uint32_t>(i) % devices);
  return options;
}

// sum += x; y = sum. Nodes add, store.
inline std::shared_ptr<const Graph> accumulator() {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kSmallShape).value();
  const TensorId sum = builder.state("sum", DType::kI32, kSmallShape).value();
  const TensorId next = builder.op(Op::kADD, {sum, x}, {}, "add").value();
  const TensorId stored = builder.node_into(sum, Op::kCOPY, std::vector<TensorId>{next}, {}, "store").value();
  if (!builder.output(stored, "y").ok()) return nullptr;
  return builder.finish().value();
}

}  // namespace backplane::testing
