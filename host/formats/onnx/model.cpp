#include "model.hpp"

#include "backplane/base/text.hpp"

namespace backplane {

std::string OnnxInput::to_string() const {
  std::string text = cat(name, ": ", type_name(dtype));
  if (!has_shape) return text + " of any rank";
  std::vector<std::string> extents;
  for (const Dim& dim : dims) {
    extents.push_back(dim.extent >= 0 ? std::to_string(dim.extent) : dim.name.empty() ? "?" : dim.name);
  }
  return cat(text, " [", join(extents, ", "), "]");
}

}  // namespace backplane

namespace backplane::onnx_import {
namespace {

std::string qualified(const std::string& domain, const std::string& name) {
  return domain.empty() ? name : cat(domain, ".", name);
}

}  // namespace

const AttributeDef::Value* NodeDef::find(std::string_view attribute) const {
  for (const AttributeDef& candidate : attributes) {
    if (candidate.name == attribute) return &candidate.value;
  }
  return nullptr;
}

std::string NodeDef::to_string() const {
  std::string text = qualified(domain, op);
  if (!name.empty()) return cat(text, " '", name, "'");
  for (const std::string& output : outputs) {
    if (!output.empty()) return cat(text, " (writing '", output, "')");
  }
  return text;
}

std::string FunctionDef::to_string() const { return qualified(domain, name); }

}  // namespace backplane::onnx_import
