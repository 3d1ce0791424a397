#include "model.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"

namespace backplane {

namespace {

// Strings that a message quotes.
constexpr size_t kMaxQuoted = 16, kMaxQuotedBytes = 100;

std::string_view kind_prefix(OnnxInput::Kind kind) {
  switch (kind) {
    case OnnxInput::Kind::sequence:
      return "sequence of ";
    case OnnxInput::Kind::optional:
      return "optional ";
    case OnnxInput::Kind::optional_sequence:
      return "optional sequence of ";
    default:
      return "";
  }
}

}  // namespace

std::string OnnxText::to_string() const {
  std::vector<std::string> quoted;
  for (size_t at = 0; at < std::min(elements.size(), kMaxQuoted); ++at) {
    quoted.push_back(cat('"', shortened(elements[at], kMaxQuotedBytes), '"'));
  }
  if (elements.size() > kMaxQuoted) quoted.push_back(cat("... (", elements.size(), " in all)"));
  return cat("[", join(quoted, ", "), "]");
}

std::optional<OnnxInput> OnnxInput::part(std::string_view part_name) const {
  OnnxInput made = *this;
  if (!is_sequence()) return part_name == name ? std::optional(std::move(made)) : std::nullopt;
  if (part_name.size() < name.size() + 3 || part_name.substr(0, name.size()) != name) return std::nullopt;
  const std::string_view number = part_name.substr(name.size() + 1, part_name.size() - name.size() - 2);
  const bool is_number = number.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_number || part_name != cat(name, "[", number, "]")) return std::nullopt;
  made.name = part_name;
  made.kind = Kind::tensor;
  for (Dim& dim : made.dims) dim.name.clear();  // elements differ in what is open
  return made;
}

std::string OnnxInput::to_string() const {
  const std::string_view type = kind == Kind::text ? "strings" : type_name(dtype);
  std::string text = cat(name, ": ", kind_prefix(kind), type);
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
