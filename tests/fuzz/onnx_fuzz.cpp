// Fuzzes the importer of ONNX models: import_onnx_bytes, with every open dimension bound, and lean_model. The input is
// a model.
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "backplane/base/text.hpp"
#include "backplane/formats/onnx.hpp"
#include "backplane/sdk/graph_view.hpp"
#include "lean_model.hpp"
#include "property.hpp"
#include "proto_reader.hpp"
#include "scratch_folder.hpp"

namespace backplane {
namespace {

constexpr char kName[] = "model.onnx";
constexpr size_t kMaxLineBytes = 1024;
constexpr int64_t kOpenExtent = 2;
constexpr size_t kLargeBytes = 8;  // inputs are small, so what they hold is large from here on
constexpr int64_t kMaxValueElements = 16;

// Small, so that a run of the fuzzer does not spend its time on models that are only big.
constexpr OnnxImportLimits kLimits{500, 1 << 14};

void require_shown(const Status& status) {
  static const std::set<Code> kCodes{Code::invalid_argument, Code::unimplemented,      Code::not_found,
                                     Code::out_of_range,     Code::resource_exhausted, Code::permission_denied};
  require(kCodes.count(status.code()) == 1, cat("a refusal has a code of the importer: ", status.to_string()));
  std::string_view rest = status.message();
  require(rest.starts_with(kName), cat("a refusal starts with the model's name: ", rest));
  require(is_utf8(rest), "a refusal is UTF-8");
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    require(end <= kMaxLineBytes, "the lines of a refusal are short");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

// A shape for a tensor, and a value if it may decide something.
void bind(const OnnxInput& input, OnnxImportOptions& options) {
  std::vector<int64_t> shape;
  for (const OnnxInput::Dim& dim : input.dims) shape.push_back(dim.extent < 0 ? kOpenExtent : dim.extent);
  const Result<int64_t> count = element_count(shape);
  const bool is_small = count.ok() && *count <= kMaxValueElements;
  if (input.kind == OnnxInput::Kind::text) {
    OnnxText text{is_small ? shape : std::vector<int64_t>{0}, {}};
    for (int64_t at = 0; is_small && at < *count; ++at) text.elements.push_back(at % 2 ? "Monday" : "1e3");
    options.texts.emplace(input.name, std::move(text));
    return;
  }
  if (is_small) {
    Result<HostTensor> zeros = HostTensor::zeros(input.dtype, shape);
    if (zeros.ok()) options.values.emplace(input.name, *zeros);
  }
  options.shapes.emplace(input.name, std::move(shape));
}

// Sequences have two elements; whether an optional value is there depends on its name.
OnnxImportOptions bind(const std::vector<OnnxInput>& inputs) {
  OnnxImportOptions options;
  options.limits = kLimits;
  for (const OnnxInput& input : inputs) {
    const bool is_optional =
        input.kind == OnnxInput::Kind::optional || input.kind == OnnxInput::Kind::optional_sequence;
    if (is_optional && input.name.size() % 2 == 0) continue;
    if (!input.is_sequence()) bind(input, options);
    for (int at = 0; input.is_sequence() && at < 2; ++at) {
      bind(input.part(cat(input.name, "[", at, "]")).value(), options);
    }
  }
  return options;
}

// Whether what a graph has is an output of the model, or an element of one.
bool is_output(std::string_view name, const std::vector<std::string>& outputs) {
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](const std::string& output) { return name == output || name.starts_with(output + "["); });
}

bool is_message(std::string_view bytes) {
  return ::onnx::ModelProto().ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// What is taken out of a message leaves it a message, or not one.
void check_lean(std::string_view bytes) {
  const auto span = std::as_bytes(std::span(bytes.data(), bytes.size()));
  const std::optional<std::string> lean = onnx_import::lean_model(span, kLargeBytes);
  require(!lean || is_message(*lean) == is_message(bytes), "a lean model is a message as the whole one is");
  require(!is_message(bytes) || onnx_import::check_fields(span).ok(), "the fields of a message are whole");
}

void check_model(std::string_view bytes) {
  static const ScratchFolder kFolder;  // empty: there is no external data
  const auto model =
      onnx_import::read_model({std::as_bytes(std::span(bytes.data(), bytes.size()))}, kName, kFolder.path());
  const OnnxImportOptions options = model.ok() ? bind(model->graph.inputs) : OnnxImportOptions();
  const Result<OnnxModel> imported = import_onnx_bytes(bytes, kName, kFolder.path(), options);
  const Result<OnnxModel> again = import_onnx_bytes(bytes, kName, kFolder.path(), options);
  if (!imported.ok()) {
    require_shown(imported.status());
    return require(imported.status().to_string() == again.status().to_string(), "importing twice gives the same");
  }
  require(model.ok(), "what can be imported can be read");
  require(again.ok() && imported->graph->abi().key == again->graph->abi().key, "importing twice gives the same");
  sdk::GraphView::check(&imported->graph->abi());  // throws
  for (const Graph::Port& port : imported->graph->outputs())
    require(is_output(port.name, model->graph.outputs), "a graph has the outputs of its model");
  for (const auto& [name, text] : imported->texts) {
    require(is_output(name, model->graph.outputs), "strings are outputs of the model");
    require(element_count(text.shape).value() == static_cast<int64_t>(text.elements.size()),
            "strings fill their shape");
  }
}

}  // namespace
}  // namespace backplane

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  backplane::check_lean(bytes);
  backplane::check_model(bytes);
  return 0;
}
