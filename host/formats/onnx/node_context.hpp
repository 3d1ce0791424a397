// NodeContext: one ONNX node while it is lowered: its inputs as tensors, its attributes as values, its outputs to set.
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emitter.hpp"
#include "model.hpp"
#include "value_table.hpp"

namespace backplane::onnx_import {

// Puts the nodes of a graph that a node holds into the place of the node.
class GraphInliner {
 public:
  virtual ~GraphInliner() = default;
  // Returns the graph's outputs for these inputs; kUnavailable among them: something in it is unsupported, and noted.
  // `label` tells the names of its nodes from those of other graphs of the node. Errors: as importing.
  virtual Result<std::vector<TensorId>> inline_graph(const GraphDef& graph, std::span<const TensorId> inputs,
                                                     const std::string& label) = 0;
  // Something about the node that the user should know.
  virtual void note(const std::string& text) = 0;
};

class NodeContext {
 public:
  // References outlive the context. `op` is the row's op; `inputs` has kNone where an input is absent.
  NodeContext(const NodeDef& node, int64_t opset, Op op, std::vector<TensorId> inputs, Emitter& emitter,
              ValueTable& value_table, GraphInliner& graphs)
      : emit(emitter),
        values(value_table),
        inliner(graphs),
        node_(node),
        opset_(opset),
        op_(op),
        inputs_(std::move(inputs)),
        outputs_(node.outputs.size(), kNone) {}

  Emitter& emit;
  ValueTable& values;
  GraphInliner& inliner;

  const NodeDef& node() const { return node_; }
  int64_t opset() const { return opset_; }
  Op op() const { return op_; }

  // ---- inputs
  const std::vector<TensorId>& inputs() const { return inputs_; }
  bool has(size_t at) const { return at < inputs_.size() && inputs_[at] != kNone; }
  TensorId in(size_t at) const { return has(at) ? inputs_[at] : kNone; }
  // The values of a constant input of any integer type. Errors: as Emitter::constant_value; invalid_argument.
  Result<std::vector<int64_t>> in_i64s(size_t at);
  Result<std::vector<double>> in_f64s(size_t at);  // of any type
  Result<int64_t> in_i64(size_t at);               // of one element
  // Errors: invalid_argument for ids that are other values than tensors.
  Status check_tensors(std::span<const TensorId> ids) const;
  // The value of a tensor that decides what there is to run. Errors: as Emitter::constant_value; invalid_argument.
  Result<bool> known_bool(TensorId condition);
  // The list that older opsets give as attribute `key` and newer ones as input `at`; empty if absent.
  Result<std::vector<int64_t>> list(std::string_view key, size_t at, int64_t input_since);

  // ---- attributes: the value or the fallback. A value of another kind fails the node (see fault).
  bool has_attr(std::string_view key) const { return node_.find(key) != nullptr; }
  int64_t i64(std::string_view key, int64_t fallback);
  double f64(std::string_view key, double fallback);
  std::string text(std::string_view key, std::string fallback);
  std::vector<int64_t> i64s(std::string_view key);
  std::vector<double> f64s(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  // Null if absent or of another kind.
  const HostTensor* tensor(std::string_view key);
  const GraphDef* graph(std::string_view key);

  // ---- outputs
  bool wants(size_t at) const { return at < outputs_.size() && !node_.outputs[at].empty(); }
  // Sets an output, or returns the failure: `return c.set(0, c.emit.op(...))`.
  Status set(size_t at, const Result<TensorId>& made);
  Status set_all(std::span<const TensorId> made);
  // What the outputs hold so far are codes of strings. Errors: as ValueTable::add_codes.
  Status set_text();
  const std::vector<TensorId>& outputs() const { return outputs_; }

  // What was wrong with an attribute that was asked for.
  const Status& fault() const { return fault_; }

  // `axis` within [0, rank). Errors: invalid_argument.
  static Result<int64_t> axis_of(int64_t axis, int64_t rank);
  // Ascending. Errors: invalid_argument, also for an axis that is there twice.
  static Result<std::vector<int64_t>> axes_of(std::vector<int64_t> axes, int64_t rank);

 private:
  template <class T>
  const T* attribute(std::string_view key, std::string_view wanted);

  const NodeDef& node_;
  int64_t opset_;
  Op op_;
  std::vector<TensorId> inputs_, outputs_;
  Status fault_;
};

}  // namespace backplane::onnx_import
