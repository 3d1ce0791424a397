#include "standard_functions.hpp"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <climits>

#include "backplane/base/text.hpp"
#include "model_types.hpp"
#include "proto_reader.hpp"

namespace backplane::onnx_import {
namespace {

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::NodeProto;
using ::onnx::OpSchema;
using ::onnx::OpSchemaRegistry;
using ::onnx::TypeProto;

// The schema in force, or null. libonnx knows nothing of versions that are newer than itself: for those, the newest it
// has speaks.
const OpSchema* find_schema(const NodeDef& node, const Opsets& opsets) {
  const auto version = opsets.find(node.domain);
  if (version == opsets.end() || version->second < 1) return nullptr;
  const int newest = static_cast<int>(std::min<int64_t>(version->second, INT_MAX));
  return OpSchemaRegistry::Schema(node.op, newest, node.domain);
}

bool has_function(const OpSchema* schema) {
  return schema != nullptr && (schema->HasFunction() || schema->HasContextDependentFunction());
}

// Writes what functions depend on; tensors and graphs they do not.
struct AttributeWriter {
  AttributeProto& proto;

  template <class Other>
  void operator()(const Other&) {}
  void operator()(int64_t value) { proto.set_type(AttributeProto::INT), proto.set_i(value); }
  void operator()(double value) { proto.set_type(AttributeProto::FLOAT), proto.set_f(static_cast<float>(value)); }
  void operator()(const std::string& value) { proto.set_type(AttributeProto::STRING), proto.set_s(value); }
  void operator()(const std::vector<int64_t>& values) {
    proto.set_type(AttributeProto::INTS);
    proto.mutable_ints()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<double>& values) {
    proto.set_type(AttributeProto::FLOATS);
    proto.mutable_floats()->Add(values.begin(), values.end());
  }
};

NodeProto write_node(const NodeDef& node) {
  NodeProto proto;
  proto.set_op_type(node.op);
  proto.set_domain(node.domain);
  for (const std::string& name : node.inputs) proto.add_input(name);
  for (const std::string& name : node.outputs) proto.add_output(name);
  for (const AttributeDef& attribute : node.attributes) {
    AttributeProto& item = *proto.add_attribute();
    item.set_name(attribute.name);
    std::visit(AttributeWriter{item}, attribute.value);
  }
  return proto;
}

TypeProto write_type(const std::optional<TensorSpec>& spec) {
  TypeProto proto;
  if (!spec) return proto;
  auto& tensor = *proto.mutable_tensor_type();
  tensor.set_elem_type(static_cast<int>(onnx_of_dtype(spec->dtype)));
  tensor.mutable_shape();
  for (const int64_t extent : spec->shape) tensor.mutable_shape()->add_dim()->set_dim_value(extent);
  return proto;
}

// Attributes that a body refers to have the defaults of the op's schema.
Status add_defaults(const OpSchema& schema, FunctionDef& function) {
  FunctionProto holder;
  NodeProto& node = *holder.add_node();
  for (const auto& [name, attribute] : schema.attributes()) {
    if (attribute.default_value.name().empty()) continue;
    *node.add_attribute() = attribute.default_value;
  }
  BP_TRY_ASSIGN(FunctionDef read, read_function(holder.SerializeAsString()));
  function.defaults = std::move(read.nodes.at(0).attributes);
  return ok_status();
}

Result<std::optional<FunctionDef>> build(const OpSchema& schema, const NodeDef& node,
                                         std::span<const std::optional<TensorSpec>> inputs) {
  FunctionProto proto;
  if (schema.HasFunction()) {
    proto = *schema.GetFunction();
  } else {
    std::vector<TypeProto> types;
    for (const std::optional<TensorSpec>& input : inputs) types.push_back(write_type(input));
    const NodeProto written = write_node(node);  // the context points into it
    const ::onnx::FunctionBodyBuildContextImpl context(written, types);
    if (!schema.BuildContextDependentFunction(context, proto)) return std::optional<FunctionDef>();
  }
  if (proto.opset_import_size() == 0) proto.add_opset_import()->set_version(schema.SinceVersion());
  proto.set_domain(schema.domain());
  BP_TRY_ASSIGN(FunctionDef function, read_function(proto.SerializeAsString()));
  BP_TRY(add_defaults(schema, function));
  return std::optional(std::move(function));
}

}  // namespace

bool has_standard_function(const NodeDef& node, const Opsets& opsets) {
  return has_function(find_schema(node, opsets));
}

Result<std::optional<FunctionDef>> standard_function(const NodeDef& node, const Opsets& opsets,
                                                     std::span<const std::optional<TensorSpec>> inputs) {
  // libonnx throws where a node is not as its schema wants it.
  try {
    const OpSchema* schema = find_schema(node, opsets);
    if (!has_function(schema)) return std::optional<FunctionDef>();
    return build(*schema, node, inputs);
  } catch (const std::exception& error) {
    return invalid_argument(cat("the standard's definition cannot be applied: ", error.what()));
  }
}

}  // namespace backplane::onnx_import
