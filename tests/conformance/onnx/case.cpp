#include "case.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backplane/base/text.hpp"
#include "backplane/formats/onnx.hpp"
#include "backplane/reference/reference.hpp"
#include "backplane/scheduler/session.hpp"

namespace backplane::testing {
namespace {

namespace fs = std::filesystem;

Outcome failed(std::string why) { return {Verdict::failed, std::move(why)}; }
Outcome unsupported(std::string why) { return {Verdict::unsupported, std::move(why)}; }

std::string file_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// The value of a TensorProto file. The importer reads it, as the constant of a model that does nothing else, so that
// there is one reader of tensors. Errors: what the importer says of a type that it does not have.
Result<HostTensor> read_tensor(const fs::path& path) {
  ::onnx::ModelProto model;
  model.set_ir_version(7);
  model.add_opset_import()->set_version(13);
  ::onnx::TensorProto* tensor = model.mutable_graph()->add_initializer();
  if (!tensor->ParseFromString(file_text(path)) || tensor->data_type() == 0)
    return unimplemented(cat(path.filename().string(), " is no tensor"));
  tensor->set_name("value");
  model.mutable_graph()->set_name("tensor");
  model.mutable_graph()->add_output()->set_name("value");
  BP_TRY_ASSIGN(const OnnxModel imported, import_onnx_bytes(model.SerializeAsString(), path.string(), "", {}));
  BP_TRY_ASSIGN(auto values, reference::run(*imported.graph, {}));
  return std::move(values[0]);
}

// "input_0.pb", "input_1.pb" ... of a data set.
Result<std::vector<HostTensor>> read_tensors(const fs::path& folder, const std::string& kind) {
  std::vector<HostTensor> tensors;
  for (;;) {
    const fs::path path = folder / cat(kind, "_", tensors.size(), ".pb");
    if (!fs::exists(path)) return tensors;
    BP_TRY_ASSIGN(HostTensor tensor, read_tensor(path));
    tensors.push_back(std::move(tensor));
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

bool declines(const Status& status) { return status.code() == Code::unimplemented; }

Outcome run_model(Runtime& runtime, const OnnxModel& model, const std::map<std::string, HostTensor>& inputs,
                  const std::vector<HostTensor>& wanted) {
  SessionOptions options;
  const size_t devices = runtime.devices().size();
  for (NodeId node = 0; devices > 1 && node < model.graph->node_count(); ++node)
    options.plan.pins.emplace_back(std::to_string(node), node % devices);
  auto session = Session::prepare(runtime, model.graph, {}, options);
  if (!session.ok())
    return {declines(session.status()) ? Verdict::unsupported : Verdict::failed, session.status().to_string()};
  for (const auto& [name, value] : inputs) {
    if (model.graph->find_input(name) == nullptr) continue;  // specialised
    if (const Status set = (*session)->set_input(name, value); !set.ok()) return failed(set.to_string());
  }
  if (const Status run = (*session)->run(); !run.ok()) return failed(run.to_string());
  const auto& outputs = model.graph->outputs();
  if (outputs.size() < wanted.size()) return failed(cat(outputs.size(), " outputs, wanted ", wanted.size()));
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto found = (*session)->output(outputs[i].name);
    if (!found.ok()) return failed(found.status().to_string());
    const std::string what = difference(*found, as_wanted(wanted[i], found->dtype()));
    if (!what.empty()) return failed(cat(outputs[i].name, ": ", what));
  }
  return {};
}

}  // namespace

Outcome run_case(Runtime& runtime, const std::string& folder) {
  const std::string path = (fs::path(folder) / "model.onnx").string();
  const fs::path data = fs::path(folder) / "test_data_set_0";
  const auto values = read_tensors(data, "input");
  if (!values.ok()) return unsupported(values.status().message());
  const auto wanted = read_tensors(data, "output");
  if (!wanted.ok()) return unsupported(wanted.status().message());
  const auto ports = read_onnx_inputs(path);
  if (!ports.ok()) return unsupported(ports.status().message());
  if (ports->size() < values->size()) return unsupported("the data set has inputs that the model's file has not");
  OnnxImportOptions options;
  for (size_t i = 0; i < values->size(); ++i) {
    const OnnxInput& port = (*ports)[i];
    options.values.emplace(port.name, as_wanted((*values)[i], port.dtype));
  }
  const auto model = import_onnx(path, options);
  if (!model.ok())
    return {declines(model.status()) ? Verdict::unsupported : Verdict::failed, model.status().to_string()};
  return run_model(runtime, *model, options.values, *wanted);
}

}  // namespace backplane::testing
