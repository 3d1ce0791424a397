// Importer: one pass over a model that makes its Graph. Thread safety: one importer, one thread; use once.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "emitter.hpp"
#include "function_table.hpp"
#include "input_binder.hpp"
#include "lowering/lowering_table.hpp"
#include "model.hpp"
#include "node_context.hpp"
#include "scope.hpp"
#include "unsupported_ops.hpp"
#include "value_table.hpp"

namespace backplane::onnx_import {

class Importer final : private GraphInliner {
 public:
  // `baked`: indices of inputs whose values become constants. References outlive the importer.
  Importer(const Model& model, std::span<const BoundInput> inputs, const std::set<uint32_t>& baked,
           const OnnxImportLimits& limits);

  // Errors: as import_onnx; one with id kNeedsValueId says that needed() must be baked too.
  Result<std::shared_ptr<const Graph>> run();
  const std::set<uint32_t>& needed() const { return emitter_.needed_candidates(); }
  // What was unrolled, in words.
  const std::vector<std::string>& notes() const { return notes_; }
  // Outputs of strings, which the graph does not have.
  std::vector<std::pair<std::string, OnnxText>>& texts() { return texts_; }

 private:
  // What holds for the nodes of one graph, or of one call of a function.
  struct Frame {
    const Opsets* opsets;
    const FunctionDef* function = nullptr;  // null: nodes of the model's graph
    const NodeDef* call = nullptr;
    const Frame* caller = nullptr;
    std::string prefix = {};       // of the names that nodes get
    const Scope* scope = nullptr;  // of the node that is being imported

    int64_t opset() const;
  };
  class Nesting;

  Status define_inputs(Scope& scope);
  Result<TensorId> define_input(uint32_t at);
  Status define_initialisers(const GraphDef& graph, Scope& scope);
  Status import_nodes(std::span<const NodeDef> nodes, Scope& scope);
  Status import_node(const NodeDef& node, Scope& scope);
  // The outputs' tensors; all kUnavailable for a node that was noted as unsupported.
  Result<std::vector<TensorId>> expand(const NodeDef& node, std::vector<TensorId> inputs);
  Result<std::vector<TensorId>> lower(const Lowering& row, const NodeDef& node, std::vector<TensorId> inputs);
  Result<std::vector<TensorId>> call_standard(const NodeDef& node, std::span<const TensorId> inputs);
  Result<std::vector<TensorId>> call(const FunctionDef& function, const NodeDef& node,
                                     std::span<const TensorId> inputs);
  // The node with the attributes of the call in the place of references to them.
  Result<NodeDef> resolve_references(const NodeDef& node) const;
  bool is_known(const NodeDef& node) const;
  void note_unsupported(const NodeDef& node, const std::string& reason = {});
  // Every unsupported op in the graphs that a node which cannot be resolved holds.
  void scan_subgraphs(const NodeDef& node);
  Status check_recursion(const FunctionDef& function) const;
  Result<std::vector<TensorId>> inline_graph(const GraphDef& graph, std::span<const TensorId> inputs,
                                             const std::string& label) override;
  void note(const std::string& text) override;
  Status set_outputs(const Scope& scope);
  Status set_output(TensorId id, const std::string& name);

  const Model& model_;
  std::span<const BoundInput> inputs_;
  const std::set<uint32_t>& baked_;
  LoweringTable table_;
  FunctionTable functions_;
  Emitter emitter_;
  ValueTable values_{emitter_};
  UnsupportedOps unsupported_;
  std::vector<std::string> notes_;
  std::vector<std::pair<std::string, OnnxText>> texts_;
  Frame* frame_ = nullptr;
  int depth_ = 0;  // of functions and graphs around the node that is being imported
  int64_t nodes_left_;
};

}  // namespace backplane::onnx_import
