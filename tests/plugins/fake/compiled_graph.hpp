// A graph made ready to run: a copy of it, owned, with the kernel of each node. And one submission of it, bound to
// memory. Thread safety: both are immutable once built.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "buffer.hpp"
#include "kernels.hpp"

namespace fake {

class CompiledGraph {
 public:
  // Copies `graph`, which was checked. Throws BP_E_UNSUPPORTED if a node has no kernel.
  CompiledGraph(const bp_graph& graph, uint32_t mix_op);
  CompiledGraph(const CompiledGraph&) = delete;
  CompiledGraph& operator=(const CompiledGraph&) = delete;

  const bp_graph& graph() const { return graph_; }
  const Kernel& kernel(uint32_t node) const { return *kernels_[node]; }

 private:
  void copy_pools(const bp_graph& graph);

  bp_graph graph_;
  std::vector<bp_tensor> tensors_;
  std::vector<bp_node> nodes_;
  std::vector<bp_attr> attrs_;
  std::vector<int64_t> i64_;
  std::vector<uint32_t> u32_;
  std::vector<double> f64_;
  std::vector<char> text_;
  std::vector<uint8_t> blob_;
  std::vector<const Kernel*> kernels_;
};

class Submission {
 public:
  // Binds every tensor that a node uses: to its own buffer, or to its owner's in `bindings`. Throws BP_E_INVALID_ARG
  // for a tensor that is unbound, misaligned, on another device, read-only but written, or beyond its buffer.
  Submission(std::shared_ptr<const CompiledGraph> graph, std::span<const bp_binding> bindings, const Device& device,
             bp_run_id run);

  // What the nodes read and write, by the node that does.
  const std::vector<AccessRange>& accesses() const { return accesses_; }
  // Runs all nodes in order. Throws BP_E_CANCELLED when `cancelled` says so between two nodes.
  void run(const std::function<bool()>& cancelled) const;
  const CompiledGraph& graph() const { return *graph_; }
  bp_run_id run_id() const { return run_; }

 private:
  struct Place {
    Buffer* buffer = nullptr;
    uint64_t offset = 0;
  };

  void place_tensors(std::span<const bp_binding> bindings);
  void resolve_node(uint32_t node);
  Operand resolve(uint32_t node, uint32_t tensor, bool written);
  void overrun(const NodeView& node) const;
  void check_overlap(uint32_t node, uint32_t output, uint32_t input) const;

  std::shared_ptr<const CompiledGraph> graph_;
  const Device& device_;
  std::vector<AccessRange> accesses_;
  std::vector<Place> places_;
  std::vector<std::vector<Operand>> inputs_, outputs_;
  bp_run_id run_;
};

}  // namespace fake
