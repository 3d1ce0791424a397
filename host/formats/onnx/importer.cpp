#include "importer.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"
#include "standard_functions.hpp"

namespace backplane::onnx_import {
namespace {

// Importing recurses over functions and graphs within each other; deeper is no honest model.
constexpr int kMaxDepth = 48;

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

Result<std::vector<TensorId>> resolve_outputs(std::span<const std::string> names, const Scope& scope) {
  std::vector<TensorId> outputs;
  for (const std::string& name : names) {
    BP_TRY_ASSIGN(outputs.emplace_back(), resolve(scope, name));
    if (outputs.back() == kNone) return invalid_argument(cat("its output '", name, "' is an input that is absent"));
  }
  return outputs;
}

// A node's name, or what stands for one.
std::string label_of(const NodeDef& node) {
  return node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
}

bool is_reference(const AttributeDef& attribute) {
  return std::holds_alternative<AttributeDef::Reference>(attribute.value);
}

const AttributeDef::Value* find_default(const FunctionDef& function, const std::string& name) {
  const auto found = std::find_if(function.defaults.begin(), function.defaults.end(),
                                  [&](const AttributeDef& attribute) { return attribute.name == name; });
  return found == function.defaults.end() ? nullptr : &found->value;
}

}  // namespace

// Goes one level deeper, into a frame of its own, and comes back.
class Importer::Nesting {
 public:
  Nesting(Importer& importer, Frame frame) : importer_(importer), frame_(std::move(frame)), outer_(importer.frame_) {
    importer_.frame_ = &frame_;
    ++importer_.depth_;
  }
  ~Nesting() {
    importer_.frame_ = outer_;
    --importer_.depth_;
  }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

  // Errors: resource_exhausted.
  Status check() const {
    if (importer_.depth_ <= kMaxDepth) return ok_status();
    return resource_exhausted(cat("functions and graphs are nested more than ", kMaxDepth, " deep"));
  }

 private:
  Importer& importer_;
  Frame frame_;
  Frame* outer_;
};

int64_t Importer::Frame::opset() const {
  const auto found = opsets->find("");
  return found == opsets->end() ? 0 : found->second;
}

Importer::Importer(const Model& model, std::span<const BoundInput> inputs, const std::set<uint32_t>& baked,
                   const OnnxImportLimits& limits)
    : model_(model),
      inputs_(inputs),
      baked_(baked),
      emitter_(limits.folded_elements),
      nodes_left_(limits.expanded_nodes) {}

Result<std::shared_ptr<const Graph>> Importer::run() {
  BP_TRY_ASSIGN(functions_, FunctionTable::make(model_.functions));
  Frame frame{&model_.opsets};
  frame_ = &frame;
  Scope scope;
  BP_TRY(define_inputs(scope));
  BP_TRY(define_initialisers(model_.graph, scope));
  BP_TRY(import_nodes(model_.graph.nodes, scope));
  if (!unsupported_.empty()) return unsupported_.status();
  BP_TRY(set_outputs(scope));
  return emitter_.builder().finish();
}

Status Importer::define_inputs(Scope& scope) {
  uint32_t at = 0;
  for (uint32_t port = 0; port < model_.graph.inputs.size(); ++port) {
    const OnnxInput& input = model_.graph.inputs[port];
    std::vector<TensorId> parts;
    for (; at < inputs_.size() && inputs_[at].port == port; ++at) {
      BP_TRY_ASSIGN(parts.emplace_back(), define_input(at));
    }
    const bool is_absent = parts.empty() && input.kind != OnnxInput::Kind::sequence;
    BP_TRY_ASSIGN(const TensorId id, is_absent             ? values_.absent()
                                     : input.is_sequence() ? values_.add_sequence(std::move(parts))
                                                           : Result<TensorId>(parts[0]));
    BP_TRY(scope.define(input.name, id));
  }
  return ok_status();
}

Result<TensorId> Importer::define_input(uint32_t at) {
  const BoundInput& input = inputs_[at];
  if (input.text) return values_.add_text(*input.text);
  if (baked_.count(at)) return emitter_.constant(input.value);
  return emitter_.input(input.name, input.dtype, input.shape, input.is_candidate() ? int64_t{at} : -1);
}

Status Importer::define_initialisers(const GraphDef& graph, Scope& scope) {
  for (const auto& [name, value] : graph.initialisers) {
    BP_TRY_ASSIGN(const TensorId id, emitter_.constant(value, name));
    BP_TRY(scope.define(name, id));
  }
  for (const auto& [name, text] : graph.texts) {
    BP_TRY_ASSIGN(const TensorId id, values_.add_text(text));
    BP_TRY(scope.define(name, id));
  }
  return ok_status();
}

Status Importer::import_nodes(std::span<const NodeDef> nodes, Scope& scope) {
  for (const NodeDef& node : nodes) {
    if (depth_ > 0 && --nodes_left_ < 0) {
      return resource_exhausted("its functions and loops stand for more nodes than the import's limit allows");
    }
    const Status status = import_node(node, scope);
    if (!status.ok()) return status.id() == kNeedsValueId ? status : status.with_context(node.to_string());
  }
  return ok_status();
}

// A node that cannot be imported is noted and its outputs are unavailable, so that one error can list all of them.
Status Importer::import_node(const NodeDef& node, Scope& scope) {
  BP_TRY_ASSIGN(std::vector<TensorId> inputs, resolve_inputs(node, scope));
  std::vector<TensorId> outputs(node.outputs.size(), kUnavailable);
  if (std::find(inputs.begin(), inputs.end(), kUnavailable) != inputs.end()) {
    if (!is_known(node)) note_unsupported(node);
    scan_subgraphs(node);
  } else {
    frame_->scope = &scope;
    BP_TRY_ASSIGN(outputs, expand(node, std::move(inputs)));
  }
  for (size_t at = 0; at < outputs.size(); ++at) {
    if (!node.outputs[at].empty()) BP_TRY(scope.define(node.outputs[at], outputs[at]));
  }
  return ok_status();
}

Result<std::vector<TensorId>> Importer::expand(const NodeDef& node, std::vector<TensorId> inputs) {
  if (std::any_of(node.attributes.begin(), node.attributes.end(), is_reference)) {
    BP_TRY_ASSIGN(const NodeDef resolved, resolve_references(node));
    return expand(resolved, std::move(inputs));
  }
  const FunctionDef* function = functions_.find(node);
  const Lowering* row = function ? nullptr : table_.find(node, frame_->opset());
  Result<std::vector<TensorId>> made = function ? call(*function, node, inputs)
                                       : row    ? lower(*row, node, std::move(inputs))
                                                : call_standard(node, inputs);
  if (made.ok() || made.status().code() != Code::unimplemented) return made;
  note_unsupported(node, made.status().message());
  scan_subgraphs(node);
  return std::vector<TensorId>(node.outputs.size(), kUnavailable);
}

Result<std::vector<TensorId>> Importer::lower(const Lowering& row, const NodeDef& node, std::vector<TensorId> inputs) {
  for (size_t at = 0; at < row.needed_inputs; ++at) {
    if (at >= inputs.size() || inputs[at] == kNone) return invalid_argument(cat("input ", at, " is absent"));
  }
  emitter_.set_node_name(frame_->prefix + label_of(node));
  BP_TRY_ASSIGN(const bool is_text, values_.to_tensors(row.takes, inputs));
  NodeContext context(node, frame_->opset(), row.target, std::move(inputs), emitter_, values_, *this);
  const Status status = row.lower(context);
  BP_TRY(context.fault());
  BP_TRY(status);
  if (is_text) BP_TRY(context.set_text());
  for (size_t at = 0; at < node.outputs.size(); ++at) {
    if (!node.outputs[at].empty() && context.outputs()[at] == kNone) {
      return unimplemented(cat("its output ", at, " ('", node.outputs[at], "') is not supported"));
    }
  }
  return context.outputs();
}

Result<std::vector<TensorId>> Importer::call_standard(const NodeDef& node, std::span<const TensorId> inputs) {
  std::vector<std::optional<TensorSpec>> specs;
  for (const TensorId id : inputs) {
    if (!is_tensor(id)) specs.emplace_back();
    if (is_tensor(id)) specs.push_back(TensorSpec{emitter_.dtype(id), emitter_.shape(id)});
  }
  BP_TRY_ASSIGN(const std::optional<FunctionDef> function, standard_function(node, *frame_->opsets, specs));
  if (function) return call(*function, node, inputs);
  note_unsupported(node);
  scan_subgraphs(node);
  return std::vector<TensorId>(node.outputs.size(), kUnavailable);
}

// A body sees its inputs only: absent ones are absent for the nodes that read them too.
Result<std::vector<TensorId>> Importer::call(const FunctionDef& function, const NodeDef& node,
                                             std::span<const TensorId> inputs) {
  if (inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size()) {
    return invalid_argument(cat("the function has ", function.inputs.size(), " inputs and ", function.outputs.size(),
                                " outputs, the node ", inputs.size(), " and ", node.outputs.size()));
  }
  BP_TRY(check_recursion(function));
  const Nesting nesting(*this, {&function.opsets, &function, &node, frame_, cat(frame_->prefix, label_of(node), "/")});
  BP_TRY(nesting.check());
  Scope scope;
  for (size_t at = 0; at < function.inputs.size(); ++at) {
    BP_TRY(scope.define(function.inputs[at], at < inputs.size() ? inputs[at] : kNone));
  }
  BP_TRY(import_nodes(function.nodes, scope));
  return resolve_outputs(std::span(function.outputs).first(node.outputs.size()), scope);
}

Status Importer::check_recursion(const FunctionDef& function) const {
  for (const Frame* frame = frame_; frame; frame = frame->caller) {
    const FunctionDef* caller = frame->function;
    if (caller && caller->name == function.name && caller->domain == function.domain &&
        caller->overload == function.overload) {
      return invalid_argument(cat("function ", function.to_string(), " calls itself; ONNX has no recursion"));
    }
  }
  return ok_status();
}

Result<NodeDef> Importer::resolve_references(const NodeDef& node) const {
  NodeDef resolved = node;
  resolved.attributes.clear();
  for (const AttributeDef& attribute : node.attributes) {
    const auto* reference = std::get_if<AttributeDef::Reference>(&attribute.value);
    if (!reference) {
      resolved.attributes.push_back(attribute);
      continue;
    }
    if (!frame_->function) {
      return invalid_argument(cat("attribute '", attribute.name, "' refers to one of a function, but is in none"));
    }
    const AttributeDef::Value* value = frame_->call->find(reference->name);
    if (!value) value = find_default(*frame_->function, reference->name);
    if (value) resolved.attributes.push_back({attribute.name, *value});
  }
  return resolved;
}

bool Importer::is_known(const NodeDef& node) const {
  return functions_.find(node) || table_.find(node, frame_->opset()) || has_standard_function(node, *frame_->opsets);
}

void Importer::note_unsupported(const NodeDef& node, const std::string& reason) {
  const auto version = frame_->opsets->find(node.domain);
  std::string op = node.domain.empty() ? node.op : cat(node.domain, ".", node.op);
  if (version != frame_->opsets->end()) append_piece(op, cat(" (opset ", version->second, ")"));
  unsupported_.add(std::move(op), frame_->prefix + label_of(node), reason);
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
        if (!is_known(inner)) note_unsupported(inner);
        open.push_back(&inner);
      }
    }
  }
}

Result<std::vector<TensorId>> Importer::inline_graph(const GraphDef& graph, std::span<const TensorId> inputs,
                                                     const std::string& label) {
  if (graph.inputs.size() != inputs.size()) {
    return invalid_argument(cat(label, " takes ", graph.inputs.size(), " inputs, but is given ", inputs.size()));
  }
  if (--nodes_left_ < 0) return resource_exhausted("its loops turn more often than the import's limit allows");
  Frame inner = *frame_;
  inner.prefix = cat(emitter_.node_name(), "/", label, "/");
  Scope scope(frame_->scope);
  const std::string name = emitter_.node_name();
  const Nesting nesting(*this, std::move(inner));
  BP_TRY(nesting.check());
  for (size_t at = 0; at < inputs.size(); ++at) BP_TRY(scope.define(graph.inputs[at].name, inputs[at]));
  BP_TRY(define_initialisers(graph, scope));
  BP_TRY(import_nodes(graph.nodes, scope));
  emitter_.set_node_name(name);
  return resolve_outputs(graph.outputs, scope);
}

void Importer::note(const std::string& text) { notes_.push_back(cat("'", emitter_.node_name(), "' ", text)); }

Status Importer::set_outputs(const Scope& scope) {
  if (model_.graph.outputs.empty()) return invalid_argument("the model has no outputs");
  BP_TRY_ASSIGN(const std::vector<TensorId> outputs, resolve_outputs(model_.graph.outputs, scope));
  for (size_t at = 0; at < outputs.size(); ++at) BP_TRY(set_output(outputs[at], model_.graph.outputs[at]));
  return ok_status();
}

// A sequence is its elements, and what is absent is no output.
Status Importer::set_output(TensorId id, const std::string& name) {
  if (is_tensor(id)) return emitter_.builder().output(id, name);
  if (values_.codes(id) != kNone) {
    BP_TRY_ASSIGN(OnnxText text, values_.text(id));
    texts_.emplace_back(name, std::move(text));
    return ok_status();
  }
  const ValueTable::Ids* elements = values_.sequence(id);
  if (!elements || elements->empty()) {
    notes_.push_back(cat("output '", name, "' is ", elements ? "an empty sequence" : "absent"));
    return ok_status();
  }
  for (size_t at = 0; at < elements->size(); ++at) BP_TRY(set_output((*elements)[at], cat(name, "[", at, "]")));
  return ok_status();
}

}  // namespace backplane::onnx_import
