#include "input_binder.hpp"

#include "backplane/base/text.hpp"

namespace backplane::onnx_import {
namespace {

constexpr int64_t kMaxBakedElements = 16;

using DimNames = std::map<std::string, int64_t>;

Status check_name(const Model& model, const std::string& name) {
  std::vector<std::string> names;
  for (const OnnxInput& input : model.graph.inputs) {
    if (input.name == name) return ok_status();
    names.push_back(input.name);
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

Status check_closed(const std::vector<OnnxInput>& inputs) {
  std::vector<std::string> open;
  for (const OnnxInput& input : inputs) {
    if (std::string text = open_text(input); !text.empty()) open.push_back(std::move(text));
  }
  if (open.empty()) return ok_status();
  return invalid_argument(
      cat("these inputs have open dimensions: ", join(open, "; "), ". Give each a shape or a value"),
      "onnx.open-dimensions");
}

}  // namespace

bool BoundInput::is_candidate() const {
  const Result<int64_t> count = element_count(shape);
  return count.ok() && *count <= kMaxBakedElements;
}

Result<std::vector<BoundInput>> bind_inputs(const Model& model, const OnnxImportOptions& options) {
  for (const auto& [name, shape] : options.shapes) BP_TRY(check_name(model, name));
  for (const auto& [name, value] : options.values) BP_TRY(check_name(model, name));
  std::vector<OnnxInput> inputs = model.graph.inputs;
  DimNames names;
  for (OnnxInput& input : inputs) {
    BP_TRY_ASSIGN(const std::vector<int64_t>* shape, given_shape(input, options));
    if (shape) BP_TRY(apply_shape(input, *shape, names));
  }
  for (OnnxInput& input : inputs) {
    for (OnnxInput::Dim& dim : input.dims) {
      const auto known = names.find(dim.name);
      if (dim.extent < 0 && known != names.end()) dim.extent = known->second;
    }
  }
  BP_TRY(check_closed(inputs));
  std::vector<BoundInput> bound;
  for (const OnnxInput& input : inputs) {
    BoundInput item{input.name, input.dtype, {}, {}};
    for (const OnnxInput::Dim& dim : input.dims) item.shape.push_back(dim.extent);
    if (const auto value = options.values.find(input.name); value != options.values.end()) item.value = value->second;
    bound.push_back(std::move(item));
  }
  return bound;
}

}  // namespace backplane::onnx_import
