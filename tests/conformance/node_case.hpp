// NodeCase: one random node while it is being made: its operands, attributes, wanted outputs and tolerance.
//
// An operand is a graph input or a constant, and half the time a view (slice, permute, broadcast) of a larger one.
// Errors of the builder are kept and given by `finish`. Thread safety: one thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backplane/graph/builder.hpp"
#include "compare.hpp"
#include "random.hpp"

namespace backplane::testing {

class NodeCase {
 public:
  NodeCase(Op op, uint64_t seed) : random(seed * 1000003 + static_cast<uint64_t>(op)), op_(op) {}

  Op op() const { return op_; }
  void operand(DType dtype, const Shape& shape, Values values);
  // A chosen value, always dense.
  void operand(HostTensor value);
  // An optional input that is not there.
  void absent() { operands_.push_back(kNone); }
  // One of `types`; the first (the op's natural type) half the time.
  DType type(std::span<const DType> types) { return random.chance(50) ? types[0] : random.pick(types); }
  // The type of operand 0, or none.
  DType first_type() const { return builder_.dtype(operands_[0]); }
  Result<std::shared_ptr<const Graph>> finish();

  Random random;
  AttrList attrs;
  std::vector<uint8_t> wanted = {1};         // by output
  Tolerance tolerance;                       // of float outputs
  std::map<std::string, HostTensor> inputs;  // values by graph input

 private:
  Result<TensorId> leaf(HostTensor value);
  Result<TensorId> view(DType dtype, const Shape& shape, Values values);

  Op op_;
  GraphBuilder builder_;
  std::vector<TensorId> operands_;
  Status status_;
};

}  // namespace backplane::testing
