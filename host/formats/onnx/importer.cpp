#include "importer.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"

namespace backplane::onnx_import {
namespace {

// The tensor of a name. Errors: invalid_argument.
Result<TensorId> resolve(const Scope& scope, const std::string& name) {
  if (const std::optional<TensorId> found = scope.find(name)) return *found;
  return invalid_argument(cat("'", name, "' is used before anything makes it"));
}

Result<std::vector<TensorId>> resolve_inputs(const NodeDef& node, const Scope& scope) {
  std::vector<TensorId> inputs;
  for (const std::string& name : node.inputs) {
    inputs.push_back(kNone);
    if (name.empty()) continue;
    BP_TRY_ASSIGN(inputs.back(), resolve(scope, name));
  }
  while (!inputs.empty() && inputs.back() == kNone) inputs.pop_back();
  return inputs;
}

}  // namespace

Importer::Importer(const Model& model, std::span<const BoundInput> inputs, const std::set<uint32_t>& baked)
    : model_(model), inputs_(inputs), baked_(baked) {}

Result<std::shared_ptr<const Graph>> Importer::run() {
  Scope scope;
  BP_TRY(define_inputs(scope));
  BP_TRY(import_nodes(model_.graph, scope));
  if (!unsupported_.empty()) return unsupported_.status(model_.opset);
  BP_TRY(set_outputs(scope));
  return emitter_.builder().finish();
}

Status Importer::define_inputs(Scope& scope) {
  for (uint32_t at = 0; at < inputs_.size(); ++at) {
    const BoundInput& input = inputs_[at];
    const int64_t candidate = input.is_candidate() ? int64_t{at} : -1;
    BP_TRY_ASSIGN(const TensorId id, baked_.count(at)
                                         ? emitter_.constant(input.value)
                                         : emitter_.input(input.name, input.dtype, input.shape, candidate));
    BP_TRY(scope.define(input.name, id));
  }
  return ok_status();
}

Status Importer::import_nodes(const GraphDef& graph, Scope& scope) {
  for (const auto& [name, value] : graph.initialisers) {
    BP_TRY_ASSIGN(const TensorId id, emitter_.constant(value, name));
    BP_TRY(scope.define(name, id));
  }
  for (const NodeDef& node : graph.nodes) {
    const Status status = import_node(node, scope);
    if (!status.ok()) return status.id() == kNeedsValueId ? status : status.with_context(node.to_string());
  }
  return ok_status();
}

// A node that cannot be imported is noted and its outputs are unavailable, so that one error can list all of them.
Status Importer::import_node(const NodeDef& node, Scope& scope) {
  const Lowering* row = table_.find(node, model_.opset);
  BP_TRY_ASSIGN(std::vector<TensorId> inputs, resolve_inputs(node, scope));
  std::vector<TensorId> outputs(node.outputs.size(), kUnavailable);
  if (!row) {
    unsupported_.add(node);
    scan_subgraphs(node);
  } else if (std::find(inputs.begin(), inputs.end(), kUnavailable) != inputs.end()) {
    scan_subgraphs(node);
  } else {
    scope_ = &scope;
    Result<std::vector<TensorId>> made = lower(*row, node, std::move(inputs));
    if (made.ok()) {
      outputs = *std::move(made);
    } else if (made.status().code() == Code::unimplemented) {
      unsupported_.add(node, made.status().message());
      scan_subgraphs(node);
    } else {
      return made.status();
    }
  }
  for (size_t at = 0; at < outputs.size(); ++at) {
    if (!node.outputs[at].empty()) BP_TRY(scope.define(node.outputs[at], outputs[at]));
  }
  return ok_status();
}

Result<std::vector<TensorId>> Importer::lower(const Lowering& row, const NodeDef& node, std::vector<TensorId> inputs) {
  for (size_t at = 0; at < row.needed_inputs; ++at) {
    if (at >= inputs.size() || inputs[at] == kNone) return invalid_argument(cat("input ", at, " is absent"));
  }
  emitter_.set_node_name(node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name);
  NodeContext context(node, model_.opset, row.target, std::move(inputs), emitter_, *this);
  const Status status = row.lower(context);
  BP_TRY(context.fault());
  BP_TRY(status);
  for (size_t at = 0; at < node.outputs.size(); ++at) {
    if (!node.outputs[at].empty() && context.outputs()[at] == kNone) {
      return unimplemented(cat("its output ", at, " ('", node.outputs[at], "') is not supported"));
    }
  }
  return context.outputs();
}

void Importer::scan_subgraphs(const NodeDef& node) {
  std::vector<const NodeDef*> open{&node};
  while (!open.empty()) {
    const NodeDef* current = open.back();
    open.pop_back();
    for (const AttributeDef& attribute : current->attributes) {
      const auto* graph = std::get_if<std::shared_ptr<const GraphDef>>(&attribute.value);
      if (!graph) continue;
      for (const NodeDef& inner : (*graph)->nodes) {
        if (!table_.find(inner, model_.opset)) unsupported_.add(inner);
        open.push_back(&inner);
      }
    }
  }
}

// Reading a model limits how deep branches nest, and so how deep this recurses.
Result<std::vector<TensorId>> Importer::inline_branch(const GraphDef& branch) {
  if (!branch.inputs.empty()) return invalid_argument("a branch of If must not have inputs");
  const Scope* outer = scope_;
  Scope scope(outer);
  const Status status = import_nodes(branch, scope);
  scope_ = outer;
  BP_TRY(status);
  std::vector<TensorId> outputs;
  for (const std::string& name : branch.outputs) {
    BP_TRY_ASSIGN(outputs.emplace_back(), resolve(scope, name));
  }
  return outputs;
}

Status Importer::set_outputs(const Scope& scope) {
  if (model_.graph.outputs.empty()) return invalid_argument("the model has no outputs");
  for (const std::string& name : model_.graph.outputs) {
    BP_TRY_ASSIGN(const TensorId id, resolve(scope, name));
    BP_TRY(emitter_.builder().output(id, name));
  }
  return ok_status();
}

}  // namespace backplane::onnx_import
