#include "model_writer.hpp"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "backplane/reference/reference.hpp"

namespace backplane::onnx_import {
namespace {

int onnx_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return ::onnx::TensorProto::FLOAT;
    case DType::kI64:
      return ::onnx::TensorProto::INT64;
    case DType::kI32:
      return ::onnx::TensorProto::INT32;
    case DType::kBOOL:
      return ::onnx::TensorProto::BOOL;
    default:
      ADD_FAILURE() << "no ONNX type for " << type_name(dtype);
      return 0;
  }
}

void write(const HostTensor& tensor, ::onnx::TensorProto* proto) {
  proto->set_data_type(onnx_type(tensor.dtype()));
  for (const int64_t extent : tensor.shape()) proto->add_dims(extent);
  proto->set_raw_data(tensor.bytes().data(), tensor.bytes().size());
}

void write(const OnnxText& text, ::onnx::TensorProto* proto) {
  proto->set_data_type(::onnx::TensorProto::STRING);
  for (const int64_t extent : text.shape) proto->add_dims(extent);
  for (const std::string& element : text.elements) proto->add_string_data(element);
}

void write(const GraphDef& graph, const WriteOptions& options, ::onnx::GraphProto* proto);

struct AttributeWriter {
  ::onnx::AttributeProto* proto;
  using Type = ::onnx::AttributeProto;

  void operator()(const AttributeDef::Other&) { proto->set_type(Type::TYPE_PROTO); }
  void operator()(const AttributeDef::Reference& reference) { proto->set_ref_attr_name(reference.name); }
  void operator()(int64_t value) { proto->set_type(Type::INT), proto->set_i(value); }
  void operator()(double value) { proto->set_type(Type::FLOAT), proto->set_f(static_cast<float>(value)); }
  void operator()(const std::string& value) { proto->set_type(Type::STRING), proto->set_s(value); }
  void operator()(const std::vector<int64_t>& values) {
    proto->set_type(Type::INTS);
    for (const int64_t value : values) proto->add_ints(value);
  }
  void operator()(const std::vector<double>& values) {
    proto->set_type(Type::FLOATS);
    for (const double value : values) proto->add_floats(static_cast<float>(value));
  }
  void operator()(const std::vector<std::string>& values) {
    proto->set_type(Type::STRINGS);
    for (const std::string& value : values) proto->add_strings(value);
  }
  void operator()(const HostTensor& value) { proto->set_type(Type::TENSOR), write(value, proto->mutable_t()); }
  void operator()(const OnnxText& value) { proto->set_type(Type::TENSOR), write(value, proto->mutable_t()); }
  void operator()(const std::shared_ptr<const GraphDef>& value) {
    proto->set_type(Type::GRAPH), write(*value, {}, proto->mutable_g());
  }
};

void write(const AttributeDef& attribute, ::onnx::AttributeProto* proto) {
  proto->set_name(attribute.name);
  std::visit(AttributeWriter{proto}, attribute.value);
}

// A field that the classes of libonnx_proto do not have.
void write_newer(google::protobuf::Message* proto, int number, const std::string& value) {
  if (!value.empty()) *proto->GetReflection()->MutableUnknownFields(proto)->AddLengthDelimited(number) = value;
}

void write(const NodeDef& node, ::onnx::NodeProto* proto) {
  proto->set_op_type(node.op);
  proto->set_domain(node.domain);
  proto->set_name(node.name);
  for (const std::string& name : node.inputs) proto->add_input(name);
  for (const std::string& name : node.outputs) proto->add_output(name);
  for (const AttributeDef& attribute : node.attributes) write(attribute, proto->add_attribute());
  write_newer(proto, 8, node.overload);
}

void write(const OnnxInput& input, ::onnx::ValueInfoProto* proto) {
  proto->set_name(input.name);
  using Kind = OnnxInput::Kind;
  ::onnx::TypeProto* part = proto->mutable_type();
  const bool is_optional = input.kind == Kind::optional || input.kind == Kind::optional_sequence;
  if (is_optional) part = part->mutable_optional_type()->mutable_elem_type();
  if (input.is_sequence()) part = part->mutable_sequence_type()->mutable_elem_type();
  auto* type = part->mutable_tensor_type();
  type->set_elem_type(input.kind == Kind::text ? int{::onnx::TensorProto::STRING} : onnx_type(input.dtype));
  if (!input.has_shape) return;
  type->mutable_shape();
  for (const OnnxInput::Dim& dim : input.dims) {
    auto* item = type->mutable_shape()->add_dim();
    if (dim.extent >= 0) item->set_dim_value(dim.extent);
    if (dim.extent < 0) item->set_dim_param(dim.name);
  }
}

void write(const GraphDef& graph, const WriteOptions& options, ::onnx::GraphProto* proto) {
  for (const NodeDef& node : graph.nodes) write(node, proto->add_node());
  for (const auto& [name, value] : graph.initialisers) {
    ::onnx::TensorProto* item = proto->add_initializer();
    write(value, item);
    item->set_name(name);
    if (!options.claimed_shape.empty()) {
      item->clear_dims();
      for (const int64_t extent : options.claimed_shape) item->add_dims(extent);
    }
    if (options.external_location.empty()) continue;
    item->clear_raw_data();
    item->set_data_location(::onnx::TensorProto::EXTERNAL);
    for (const auto& [key, text] :
         {std::pair("location", options.external_location), std::pair("offset", options.external_offset),
          std::pair("length", options.external_length)}) {
      if (text.empty()) continue;
      auto* entry = item->add_external_data();
      entry->set_key(key);
      entry->set_value(text);
    }
  }
  for (const auto& [name, text] : graph.texts) {
    write(text, proto->add_initializer());
    proto->mutable_initializer()->rbegin()->set_name(name);
  }
  for (const OnnxInput& input : graph.inputs) write(input, proto->add_input());
  for (const std::string& output : graph.outputs) proto->add_output()->set_name(output);
}

void write(const FunctionDef& function, ::onnx::FunctionProto* proto) {
  proto->set_name(function.name);
  proto->set_domain(function.domain);
  for (const std::string& name : function.inputs) proto->add_input(name);
  for (const std::string& name : function.outputs) proto->add_output(name);
  for (const AttributeDef& attribute : function.defaults) {
    ::onnx::AttributeProto item;
    write(attribute, &item);
    write_newer(proto, 11, item.SerializeAsString());
  }
  for (const NodeDef& node : function.nodes) write(node, proto->add_node());
  write_newer(proto, 13, function.overload);
  for (const auto& [domain, version] : function.opsets) {
    auto* import = proto->add_opset_import();
    import->set_domain(domain);
    import->set_version(version);
  }
}

}  // namespace

std::string write_model(const Model& model, const WriteOptions& options) {
  ::onnx::ModelProto proto;
  proto.set_ir_version(8);
  proto.set_producer_name(model.producer);
  write(model.graph, options, proto.mutable_graph());
  proto.add_opset_import()->set_version(model.opset);
  for (const FunctionDef& function : model.functions) write(function, proto.add_functions());
  return proto.SerializeAsString();
}

NodeDef make_node(std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                  std::vector<AttributeDef> attributes) {
  std::string name = outputs.empty() ? op : "make_" + outputs[0];
  return {std::move(op), {}, std::move(name), std::move(inputs), std::move(outputs), std::move(attributes)};
}

OnnxInput make_input(std::string name, DType dtype, const std::vector<int64_t>& shape) {
  OnnxInput input{std::move(name), dtype, {}, true};
  for (const int64_t extent : shape) {
    input.dims.push_back({extent, extent < 0 ? "d" + std::to_string(input.dims.size()) : ""});
  }
  return input;
}

OnnxInput make_input(std::string name, OnnxInput::Kind kind, const std::vector<int64_t>& shape) {
  OnnxInput input = make_input(std::move(name), DType::kF32, shape);
  input.kind = kind;
  return input;
}

HostTensor f32s(std::vector<int64_t> shape, const std::vector<float>& values) {
  return HostTensor::of<float>(DType::kF32, std::move(shape), std::span(values));
}

HostTensor i64s(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  return HostTensor::of<int64_t>(DType::kI64, std::move(shape), std::span(values));
}

Result<OnnxModel> import_model(const Model& model, const OnnxImportOptions& options) {
  return import_onnx_bytes(write_model(model), "test.onnx", "", options);
}

std::vector<HostTensor> run_model(const Model& model, const std::map<std::string, HostTensor>& values) {
  const Result<OnnxModel> made = import_model(model, {{}, values});
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  if (!made.ok()) return {};
  return run_graph(*made->graph, values);
}

std::vector<HostTensor> run_graph(const Graph& graph, const std::map<std::string, HostTensor>& values) {
  std::map<std::string, HostTensor> fed;
  for (const Graph::Port& port : graph.inputs()) fed[port.name] = values.at(port.name);
  Result<std::vector<HostTensor>> outputs = reference::run(graph, fed);
  EXPECT_TRUE(outputs.ok()) << outputs.status().to_string();
  return outputs.ok() ? *std::move(outputs) : std::vector<HostTensor>();
}

std::vector<float> floats(const HostTensor& tensor) {
  EXPECT_EQ(tensor.dtype(), DType::kF32);
  return {tensor.data<float>(), tensor.data<float>() + tensor.elements()};
}

}  // namespace backplane::onnx_import
