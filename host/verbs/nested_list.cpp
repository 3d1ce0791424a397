#include "nested_list.hpp"

namespace backplane::cli {
namespace {

Status flatten(const Json& value, size_t depth, NestedList& list) {
  std::vector<int64_t>& shape = list.shape;
  if (!value.is(Json::Kind::array)) {
    if (depth != shape.size()) return invalid_argument("an element where a list is expected");
    list.items.push_back(&value);
    return ok_status();
  }
  const auto length = static_cast<int64_t>(value.items().size());
  if (depth == shape.size() && list.items.empty()) shape.push_back(length);
  if (depth >= shape.size() || shape[depth] != length) return invalid_argument("lists of different lengths");
  for (const Json& item : value.items()) BP_TRY(flatten(item, depth + 1, list));
  return ok_status();
}

}  // namespace

Result<NestedList> flatten_list(const Json& value) {
  NestedList list;
  BP_TRY(flatten(value, 0, list));
  return list;
}

}  // namespace backplane::cli
