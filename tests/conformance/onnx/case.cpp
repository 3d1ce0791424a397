#include "case.hpp"

#include <onnx/onnx-data_pb.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "backplane/base/text.hpp"
#include "backplane/formats/onnx.hpp"
#include "backplane/reference/reference.hpp"
#include "backplane/scheduler/session.hpp"

namespace backplane::testing {
namespace {

namespace fs = std::filesystem;

Outcome failed(std::string why) { return {Verdict::failed, std::move(why)}; }

std::string file_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// What the data gives for an input or output, as the importer names it: a sequence is its elements.
struct Value {
  std::string name;
  HostTensor tensor;  // null: strings
  OnnxText text;
};

// The importer reads it, as the constant of a model that does nothing else, so that there is one reader of tensors.
// Errors: what the importer says of a type that it does not have.
Result<Value> read_tensor(const ::onnx::TensorProto& proto, const std::string& name) {
  ::onnx::ModelProto model;
  model.set_ir_version(7);
  model.add_opset_import()->set_version(13);
  *model.mutable_graph()->add_initializer() = proto;
  model.mutable_graph()->mutable_initializer(0)->set_name("value");
  model.mutable_graph()->set_name("tensor");
  model.mutable_graph()->add_output()->set_name("value");
  BP_TRY_ASSIGN(OnnxModel imported, import_onnx_bytes(model.SerializeAsString(), name, "", {}));
  if (!imported.texts.empty()) return Value{name, {}, std::move(imported.texts[0].second)};
  BP_TRY_ASSIGN(auto values, reference::run(*imported.graph, {}));
  return Value{name, std::move(values[0]), {}};
}

Result<std::vector<Value>> read_sequence(const ::onnx::SequenceProto& proto, const std::string& name) {
  std::vector<Value> values;
  for (const ::onnx::TensorProto& element : proto.tensor_values()) {
    BP_TRY_ASSIGN(values.emplace_back(), read_tensor(element, cat(name, "[", values.size(), "]")));
  }
  return values;
}

template <class Proto>
Result<Proto> parse(const std::string& bytes) {
  Proto proto;
  if (proto.ParseFromString(bytes)) return proto;
  return invalid_argument(cat("the data is no ", proto.GetTypeName()));
}

Result<std::vector<Value>> read_values(const std::string& bytes, const ::onnx::ValueInfoProto& port) {
  if (port.type().has_optional_type()) {
    BP_TRY_ASSIGN(const auto proto, parse<::onnx::OptionalProto>(bytes));
    if (proto.has_sequence_value()) return read_sequence(proto.sequence_value(), port.name());
    if (!proto.has_tensor_value()) return std::vector<Value>();
    BP_TRY_ASSIGN(Value value, read_tensor(proto.tensor_value(), port.name()));
    return std::vector<Value>{std::move(value)};
  }
  if (port.type().has_sequence_type()) {
    BP_TRY_ASSIGN(const auto proto, parse<::onnx::SequenceProto>(bytes));
    return read_sequence(proto, port.name());
  }
  BP_TRY_ASSIGN(const auto proto, parse<::onnx::TensorProto>(bytes));
  BP_TRY_ASSIGN(Value value, read_tensor(proto, port.name()));
  return std::vector<Value>{std::move(value)};
}

using Ports = ::google::protobuf::RepeatedPtrField<::onnx::ValueInfoProto>;

// "input_0.pb", "input_1.pb" ... of a data set, which are the values of the model's inputs in their order.
Result<std::vector<Value>> read_all(const fs::path& folder, const std::string& kind, const Ports& ports) {
  std::vector<Value> all;
  for (int at = 0;; ++at) {
    const fs::path path = folder / cat(kind, "_", at, ".pb");
    if (!fs::exists(path)) return all;
    if (at == ports.size()) return unimplemented(cat("the data set has an ", kind, " that the model's file has not"));
    BP_TRY_ASSIGN(std::vector<Value> values, read_values(file_text(path), ports[at]));
    std::move(values.begin(), values.end(), std::back_inserter(all));
  }
}

std::vector<double> doubles(const HostTensor& x) {
  const AttrList to = {{BP_ATTR_TO, static_cast<int64_t>(DType::kF64)}};
  const HostTensor wide = reference::evaluate(Op::kCAST, std::span(&x, 1), to).value()[0];
  return {wide.data<double>(), wide.data<double>() + wide.elements()};
}

// The test data holds bf16 as u16.
HostTensor as_wanted(const HostTensor& value, DType dtype) {
  if (dtype != DType::kBF16 || value.dtype() != DType::kU16) return value;
  return HostTensor::borrow(dtype, value.shape(), value.bytes(), value.keeper()).value();
}

// ONNX's backend tests allow rtol 1e-3 and atol 1e-7; exact where the type is.
std::string difference(const HostTensor& got, const HostTensor& want) {
  if (got.dtype() != want.dtype() || got.shape() != want.shape())
    return cat("got ", got.to_string(), ", wanted ", want.to_string());
  const bool real = is_float(want.dtype());
  const std::vector<double> a = doubles(got), b = doubles(want);
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    if (same || (real && std::fabs(a[i] - b[i]) <= 1e-7 + 1e-3 * std::fabs(b[i]))) continue;
    return cat("element ", i, " of ", want.to_string(), " is ", a[i], ", wanted ", b[i]);
  }
  return {};
}

// What is declined in words is not supported; all else that is not the wanted output is a failure.
Outcome declined(const Status& status) {
  return {status.code() == Code::unimplemented ? Verdict::unsupported : Verdict::failed, status.to_string()};
}

// What is wrong with the session's or the import's output of that name, or nothing.
std::string output_fault(const OnnxModel& model, const Session& session, const Value& wanted) {
  if (wanted.tensor.is_null()) {
    for (const auto& [name, text] : model.texts) {
      if (name != wanted.name) continue;
      const bool same = text.shape == wanted.text.shape && text.elements == wanted.text.elements;
      return same ? "" : cat(name, " is ", text.to_string(), ", wanted ", wanted.text.to_string());
    }
    return cat("there is no output ", wanted.name, " of strings");
  }
  const auto found = session.output(wanted.name);
  if (!found.ok()) return found.status().to_string();
  const std::string what = difference(*found, as_wanted(wanted.tensor, found->dtype()));
  return what.empty() ? what : cat(wanted.name, ": ", what);
}

Outcome run_model(Runtime& runtime, const OnnxModel& model, const std::map<std::string, HostTensor>& inputs,
                  const std::vector<Value>& wanted) {
  SessionOptions options;
  const size_t devices = runtime.devices().size();
  for (NodeId node = 0; devices > 1 && node < model.graph->node_count(); ++node)
    options.plan.pins.emplace_back(std::to_string(node), node % devices);
  auto session = Session::prepare(runtime, model.graph, {}, options);
  if (!session.ok()) return declined(session.status());
  for (const auto& [name, value] : inputs) {
    if (model.graph->find_input(name) == nullptr) continue;  // specialised
    if (const Status set = (*session)->set_input(name, value); !set.ok()) return failed(set.to_string());
  }
  if (const Status run = (*session)->run(); !run.ok()) return failed(run.to_string());
  if (model.graph->outputs().size() + model.texts.size() != wanted.size())
    return failed(cat(model.graph->outputs().size(), " outputs, wanted ", wanted.size()));
  for (const Value& value : wanted) {
    if (std::string fault = output_fault(model, **session, value); !fault.empty()) return failed(std::move(fault));
  }
  return {};
}

}  // namespace

Outcome run_case(Runtime& runtime, const std::string& folder) {
  const std::string path = (fs::path(folder) / "model.onnx").string();
  const fs::path data = fs::path(folder) / "test_data_set_0";
  const auto proto = parse<::onnx::ModelProto>(file_text(path));
  if (!proto.ok()) return failed(proto.status().message());
  const auto values = read_all(data, "input", proto->graph().input());
  if (!values.ok()) return declined(values.status());
  const auto wanted = read_all(data, "output", proto->graph().output());
  if (!wanted.ok()) return declined(wanted.status());
  OnnxImportOptions options;
  const auto ports = read_onnx_inputs(path);
  if (!ports.ok()) return declined(ports.status());
  for (const Value& value : *values) {
    if (value.tensor.is_null()) options.texts.emplace(value.name, value.text);
    for (const OnnxInput& port : *ports) {
      const auto part = port.part(value.name);
      if (part && !value.tensor.is_null()) options.values.emplace(value.name, as_wanted(value.tensor, part->dtype));
    }
  }
  const auto model = import_onnx(path, options);
  return model.ok() ? run_model(runtime, *model, options.values, *wanted) : declined(model.status());
}

}  // namespace backplane::testing
