#include "backplane/formats/onnx.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <set>
#include <span>

#include "backplane/base/text.hpp"
#include "backplane/reference/reference.hpp"
#include "file_map.hpp"
#include "importer.hpp"
#include "input_binder.hpp"
#include "proto_reader.hpp"

namespace backplane {
namespace {

using onnx_import::BoundInput;
using onnx_import::Model;

Result<Model> read_file(const std::string& path) {
  BP_TRY_ASSIGN(const std::shared_ptr<const onnx_import::FileMap> map, onnx_import::FileMap::open(path));
  return onnx_import::read_model({map->bytes(), map}, path, std::filesystem::path(path).parent_path().string());
}

// "sr = 16000", "scales = [1, 1, 0.5]"
std::string baked_text(const BoundInput& input) {
  const AttrList to_f64{{BP_ATTR_TO, static_cast<int64_t>(DType::kF64)}};
  const auto wide = reference::evaluate(Op::kCAST, std::span(&input.value, 1), to_f64);
  if (!wide.ok()) return input.name;
  std::vector<std::string> values;
  for (int64_t at = 0; at < wide->at(0).elements(); ++at) values.push_back(cat(wide->at(0).data<double>()[at]));
  return cat(input.name, " = ", input.shape.empty() ? values[0] : cat("[", join(values, ", "), "]"));
}

// What the import is for, of the inputs: values, and lengths of sequences.
std::vector<std::string> specialised(const Model& model, std::span<const BoundInput> inputs,
                                     const std::set<uint32_t>& baked) {
  std::vector<std::string> texts;
  std::vector<size_t> parts(model.graph.inputs.size());
  for (uint32_t at = 0; at < inputs.size(); ++at) {
    if (inputs[at].text) texts.push_back(cat(inputs[at].name, " = ", inputs[at].text->to_string()));
    if (baked.count(at)) texts.push_back(baked_text(inputs[at]));
    ++parts[inputs[at].port];
  }
  for (size_t port = 0; port < parts.size(); ++port) {
    const OnnxInput& input = model.graph.inputs[port];
    if (input.kind == OnnxInput::Kind::tensor || input.kind == OnnxInput::Kind::text) continue;
    if (parts[port] == 0)
      texts.push_back(cat(input.name, input.kind == OnnxInput::Kind::sequence ? " is empty" : " is absent"));
    if (parts[port] > 0 && input.is_sequence()) texts.push_back(cat(input.name, " has ", parts[port], " elements"));
  }
  return texts;
}

// Adds what a pass needed to what is baked in. Errors: an input without a value.
Status bake(std::span<const BoundInput> inputs, const std::set<uint32_t>& needed, std::set<uint32_t>& baked) {
  std::vector<std::string> missing;
  for (const uint32_t at : needed) {
    if (inputs[at].value.is_null()) missing.push_back(cat("'", inputs[at].name, "'"));
    baked.insert(at);
  }
  if (missing.empty()) return ok_status();
  return invalid_argument(cat("the value of ", missing.size() == 1 ? "input " : "inputs ", join(missing, ", "),
                              " decides a branch, a shape or an index, so it must be known at import: pass the value"),
                          "onnx.needs-value");
}

// Inputs that nothing reads, other than by passing them on.
std::vector<std::string> unused_inputs(const Graph& graph) {
  std::vector<bool> read(graph.storage_count());
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    for (const TensorId id : graph.node_inputs(node)) {
      if (id != kNone) read[graph.storage_of(id)] = true;
    }
  }
  for (const Graph::Port& port : graph.outputs()) read[graph.storage_of(port.tensor)] = true;
  std::vector<std::string> notes;
  for (const Graph::Port& port : graph.inputs()) {
    if (!read[graph.storage_of(port.tensor)]) notes.push_back(cat("the value of input '", port.name, "' is not used"));
  }
  return notes;
}

// Imports with all small inputs as run-time inputs first, then again with those that turn out to be needed baked in.
// Each pass bakes at least one more, so this ends.
Result<OnnxModel> import_model(const Model& model, const OnnxImportOptions& options) {
  BP_TRY_ASSIGN(const std::vector<BoundInput> inputs, onnx_import::bind_inputs(model, options));
  std::set<uint32_t> baked;
  for (;;) {
    onnx_import::Importer importer(model, inputs, baked, options.limits);
    Result<std::shared_ptr<const Graph>> graph = importer.run();
    if (!graph.ok()) {
      if (graph.status().id() != onnx_import::kNeedsValueId) return graph.status();
      BP_TRY(bake(inputs, importer.needed(), baked));
      continue;
    }
    OnnxModel made{*std::move(graph), model.opset, model.producer, specialised(model, inputs, baked), {}};
    made.notes = importer.notes();
    made.texts = std::move(importer.texts());
    for (std::string& note : unused_inputs(*made.graph)) made.notes.push_back(std::move(note));
    return made;
  }
}

// A line without its middle: what it starts with says where, what it ends with says what.
std::string abridged(std::string line) {
  constexpr size_t kHeadBytes = 500, kTailBytes = 500;
  if (line.size() <= kHeadBytes + kTailBytes) return line;
  size_t tail = line.size() - kTailBytes;
  while (tail < line.size() && (static_cast<unsigned char>(line[tail]) & 0xC0U) == 0x80U) ++tail;  // whole characters
  return cat(shortened(line, kHeadBytes), std::string_view(line).substr(tail));
}

// Messages quote what the file says, and names of a file can be long and anything but text.
Status presentable(const Status& status) {
  std::vector<std::string> lines;
  for (std::string_view rest = status.message(); !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    lines.push_back(abridged(printable(rest.substr(0, end))));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return Status(status.code(), join(lines, "\n"), status.id());
}

Result<OnnxModel> import_named(const Result<Model>& model, const OnnxImportOptions& options) {
  if (!model.ok()) return presentable(model.status());
  Result<OnnxModel> made = import_model(*model, options);
  if (!made.ok()) return presentable(made.status().with_context(model->name));
  return made;
}

// A model may want more than there is, wherever that shows.
template <class Body>
auto without_exceptions(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return resource_exhausted("the model does not fit into memory");
  } catch (const std::exception& error) {
    return internal_error(cat("the importer failed, which is a fault of it: ", printable(error.what())));
  }
}

}  // namespace

Result<std::vector<OnnxInput>> read_onnx_inputs(const std::string& path) {
  return without_exceptions([&]() -> Result<std::vector<OnnxInput>> {
    Result<Model> model = read_file(path);
    if (!model.ok()) return presentable(model.status());
    return std::move(model->graph.inputs);
  });
}

Result<OnnxModel> import_onnx(const std::string& path, const OnnxImportOptions& options) {
  return without_exceptions([&] { return import_named(read_file(path), options); });
}

Result<OnnxModel> import_onnx_bytes(std::string_view bytes, const std::string& name, const std::string& folder,
                                    const OnnxImportOptions& options) {
  return without_exceptions([&] {
    const auto view = std::as_bytes(std::span(bytes.data(), bytes.size()));
    return import_named(onnx_import::read_model({view}, name, folder), options);
  });
}

}  // namespace backplane
