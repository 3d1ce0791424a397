#include "input_binder.hpp"

#include "backplane/base/text.hpp"

namespace backplane::onnx_import {
namespace {

constexpr int64_t kMaxBakedElements = 16;

using DimNames = std::map<std::string, int64_t>;

// An input's tensors, with the numbers of the inputs that they are of.
struct Part {
  OnnxInput input;
  uint32_t port;
};

bool is_given(const std::string& name, const OnnxImportOptions& options) {
  return options.shapes.count(name) > 0 || options.values.count(name) > 0;
}

// A sequence is as long as what is given of it.
std::vector<Part> parts_of(const Model& model, const OnnxImportOptions& options) {
  std::vector<Part> parts;
  for (uint32_t port = 0; port < model.graph.inputs.size(); ++port) {
    const OnnxInput& input = model.graph.inputs[port];
    if (!input.is_sequence()) {
      if (input.kind != OnnxInput::Kind::optional || is_given(input.name, options)) parts.push_back({input, port});
      continue;
    }
    for (size_t at = 0;; ++at) {
      const std::string name = cat(input.name, "[", at, "]");
      if (!is_given(name, options)) break;
      parts.push_back({input.part(name).value(), port});
    }
  }
  return parts;
}

Status check_name(const Model& model, const std::vector<Part>& parts, const std::string& name) {
  std::vector<std::string> names;
  for (const Part& part : parts) {
    if (part.input.name == name) return ok_status();
    names.push_back(part.input.name);
  }
  for (const OnnxInput& input : model.graph.inputs) {
    if (input.is_sequence()) names.push_back(cat(input.name, "[0], [1] ... without a gap"));
  }
  return invalid_argument(
      cat("the model has no input '", name, "'", did_you_mean(name, names), "; its inputs are ", join(names, ", ")));
}

// The shape that was given for an input, or null. Errors: two that differ; a value of another type.
Result<const std::vector<int64_t>*> given_shape(const OnnxInput& input, const OnnxImportOptions& options) {
  const auto shape = options.shapes.find(input.name);
  const auto value = options.values.find(input.name);
  if (value == options.values.end()) return shape == options.shapes.end() ? nullptr : &shape->second;
  if (value->second.is_null()) return invalid_argument(cat("the value of input '", input.name, "' is null"));
  if (value->second.dtype() != input.dtype) {
    return invalid_argument(cat("input '", input.name, "' is of type ", type_name(input.dtype), ", but its value is ",
                                value->second.to_string()));
  }
  if (shape != options.shapes.end() && shape->second != value->second.shape()) {
    return invalid_argument(cat("input '", input.name, "' has the shape ", shape_text(shape->second),
                                ", but its value is ", value->second.to_string()));
  }
  return &value->second.shape();
}

// Fills an input's open dimensions from a given shape, and `names` with what that says about dimensions by name.
Status apply_shape(OnnxInput& input, const std::vector<int64_t>& shape, DimNames& names) {
  const std::string declared = input.to_string();
  if (!input.has_shape) input.dims.resize(shape.size());
  bool fits = shape.size() == input.dims.size();
  for (size_t at = 0; fits && at < shape.size(); ++at) {
    OnnxInput::Dim& dim = input.dims[at];
    fits = shape[at] >= 0 && (dim.extent < 0 || dim.extent == shape[at]);
    dim.extent = shape[at];
    if (!dim.name.empty()) names.emplace(dim.name, shape[at]);
  }
  input.has_shape = true;
  if (fits) return ok_status();
  return invalid_argument(cat("the model wants ", declared, ", found shape ", shape_text(shape)));
}

// "x: f32 [?, 3, H, W] (axes 0, 2, 3)", or "" if nothing is open.
std::string open_text(const OnnxInput& input) {
  if (!input.has_shape) return cat(input.to_string(), " (all of its shape)");
  std::vector<std::string> axes;
  for (size_t at = 0; at < input.dims.size(); ++at) {
    if (input.dims[at].extent < 0) axes.push_back(std::to_string(at));
  }
  if (axes.empty()) return {};
  return cat(input.to_string(), axes.size() == 1 ? " (axis " : " (axes ", join(axes, ", "), ")");
}

Status check_closed(const std::vector<Part>& parts) {
  std::vector<std::string> open;
  for (const Part& part : parts) {
    if (std::string text = open_text(part.input); !text.empty()) open.push_back(std::move(text));
  }
  if (open.empty()) return ok_status();
  return invalid_argument(
      cat("these inputs have open dimensions: ", join(open, "; "), ". Give each a shape or a value"),
      "onnx.open-dimensions");
}

// The values of all inputs of strings. Errors: as bind_inputs.
Status check_texts(const std::vector<Part>& parts, const OnnxImportOptions& options) {
  std::vector<std::string> missing;
  for (const auto& [input, port] : parts) {
    const auto text = options.texts.find(input.name);
    const bool is_text = input.kind == OnnxInput::Kind::text;
    if (is_text ? is_given(input.name, options) : text != options.texts.end()) {
      return invalid_argument(
          cat("the model wants ", input.to_string(), ", but is given ", is_text ? "a shape or numbers" : "strings"));
    }
    if (!is_text) continue;
    if (text == options.texts.end()) {
      missing.push_back(cat("'", input.name, "'"));
      continue;
    }
    const Result<int64_t> count = element_count(text->second.shape);
    if (!count.ok() || *count != static_cast<int64_t>(text->second.elements.size())) {
      return invalid_argument(cat("input '", input.name, "' is given ", text->second.elements.size(),
                                  " strings for the shape ", shape_text(text->second.shape)));
    }
  }
  if (missing.empty()) return ok_status();
  return invalid_argument(cat("strings are known at import: pass the value of ",
                              missing.size() == 1 ? "input " : "inputs ", join(missing, ", ")),
                          "onnx.needs-value");
}

Status apply_shapes(std::vector<Part>& parts, const OnnxImportOptions& options) {
  DimNames names;
  for (Part& part : parts) {
    const auto text = options.texts.find(part.input.name);
    BP_TRY_ASSIGN(const std::vector<int64_t>* shape,
                  part.input.kind == OnnxInput::Kind::text ? &text->second.shape : given_shape(part.input, options));
    if (shape) BP_TRY(apply_shape(part.input, *shape, names));
  }
  for (Part& part : parts) {
    for (OnnxInput::Dim& dim : part.input.dims) {
      const auto known = names.find(dim.name);
      if (dim.extent < 0 && known != names.end()) dim.extent = known->second;
    }
  }
  return ok_status();
}

}  // namespace

bool BoundInput::is_candidate() const {
  const Result<int64_t> count = element_count(shape);
  return count.ok() && *count <= kMaxBakedElements;
}

Result<std::vector<BoundInput>> bind_inputs(const Model& model, const OnnxImportOptions& options) {
  std::vector<Part> parts = parts_of(model, options);
  for (const auto& [name, shape] : options.shapes) BP_TRY(check_name(model, parts, name));
  for (const auto& [name, value] : options.values) BP_TRY(check_name(model, parts, name));
  for (const auto& [name, text] : options.texts) BP_TRY(check_name(model, parts, name));
  BP_TRY(check_texts(parts, options));
  BP_TRY(apply_shapes(parts, options));
  BP_TRY(check_closed(parts));
  std::vector<BoundInput> bound;
  for (const auto& [input, port] : parts) {
    BoundInput item{input.name, input.dtype, {}, {}, port, {}};
    for (const OnnxInput::Dim& dim : input.dims) item.shape.push_back(dim.extent);
    if (const auto value = options.values.find(input.name); value != options.values.end()) item.value = value->second;
    if (input.kind == OnnxInput::Kind::text) item.text = options.texts.at(input.name);
    bound.push_back(std::move(item));
  }
  return bound;
}

}  // namespace backplane::onnx_import
