// GraphBuilder: a small bp_graph of several nodes, dense or viewed tensors, bound or not; for tests. Owns all pools.
#pragma once

#include <initializer_list>
#include <vector>

#include "backplane/abi/abi.h"

namespace backplane_cpu::testing {

class GraphBuilder {
 public:
  // Adds a dense tensor; returns its index.
  uint32_t tensor(uint32_t dtype, const std::vector<int64_t>& shape);
  // Adds a dense view of `owner` from byte `offset` on.
  uint32_t view(uint32_t owner, uint64_t offset, const std::vector<int64_t>& shape);
  void node(uint32_t op, std::initializer_list<uint32_t> ins, std::initializer_list<uint32_t> outs);
  // Binds a tensor of a graph that is submitted as it is.
  void bind(uint32_t tensor, bp_buffer* buffer, uint64_t offset) {
    tensors_[tensor].buffer = buffer;
    tensors_[tensor].offset = offset;
  }
  // Valid until the next change.
  const bp_graph* graph();

 private:
  std::vector<bp_tensor> tensors_;
  std::vector<bp_node> nodes_;
  std::vector<int64_t> i64_;
  std::vector<uint32_t> u32_;
  bp_graph graph_{};
};

}  // namespace backplane_cpu::testing
