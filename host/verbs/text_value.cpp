#include "text_value.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "backplane/base/json.hpp"
#include "backplane/base/text.hpp"
#include "nested_list.hpp"

namespace backplane::cli {
namespace {

constexpr JsonLimits kLimits{1 << 26, 32};

// Axis by axis; `next` counts the elements that are written.
Json nested(const OnnxText& text, size_t axis, size_t& next) {
  if (axis == text.shape.size()) return Json::text(text.elements[next++]);
  Json list = Json::array();
  for (int64_t i = 0; i < text.shape[axis]; ++i) list.push(nested(text, axis + 1, next));
  return list;
}

}  // namespace

Result<OnnxText> parse_text(const std::string& json, const std::string& what) {
  BP_TRY_ASSIGN(const Json parsed, parse_json(json, what, kLimits));
  Result<NestedList> list = flatten_list(parsed);
  if (!list.ok()) return list.status().with_context(what);
  OnnxText text{std::move(list->shape), {}};
  for (const Json* item : list->items) {
    if (!item->is(Json::Kind::text)) return invalid_argument(cat(what, ": wants strings, found ", item->kind_name()));
    text.elements.push_back(item->as_text());
  }
  return text;
}

Result<OnnxText> read_text(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return not_found(cat("there is no file '", path, "'"));
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file || bytes.empty()) return invalid_argument(cat("cannot read '", path, "'"));
  return parse_text(bytes, path);
}

Status write_text(const std::string& path, const OnnxText& text) {
  size_t next = 0;
  const std::string json = nested(text, 0, next).dump() + "\n";
  const Result<OnnxText> again = parse_text(json, path);
  if (!again.ok() || again->elements != text.elements)
    return unimplemented(cat("cannot write '", path, "': JSON has no strings that are not UTF-8"));
  std::ofstream file(path, std::ios::binary);
  file << json;
  file.close();
  return file ? ok_status() : invalid_argument(cat("cannot write '", path, "': ", std::strerror(errno)));
}

}  // namespace backplane::cli
