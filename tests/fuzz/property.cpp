#include "property.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

constexpr size_t kMaxMessageBytes = 1024;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool contains(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

void require(bool holds, std::string_view property) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s\n", static_cast<int>(property.size()), property.data());
  std::abort();
}

void require_refusal(const Status& status, Code code, std::string_view area, std::span<const std::string_view> ids) {
  const std::string prefix = cat(area, ".");
  const std::string& message = status.message();
  require(status.code() == code, cat("the code of '", status.to_string(), "' is ", code_name(code)));
  require(status.id().starts_with(prefix) && contains(ids, std::string_view(status.id()).substr(prefix.size())),
          cat("'", status.id(), "' is a known id"));
  require(!message.empty(), "a refusal says why");
  require(message.size() <= kMaxMessageBytes, cat("a message is short, not ", message.size(), " bytes: ", message));
  require(is_utf8(message), cat("a message is UTF-8: ", printable(message)));
  const std::string shown = printable(message);
  require(is_utf8(shown) && printable(shown) == shown, "what is printable stays as it is");
}

void require_place(const Status& status, JsonFault fault, std::string_view text, std::string_view file) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::string place = cat(file, ":", fault.line, ":", fault.column, ": ");
  require(status.message().starts_with(place), cat("'", status.message(), "' starts with the fault's place: ", place));
  require(fault.line >= 1 && fault.column >= 1, "places count from 1");
  for (uint32_t line = 1; line < fault.line; ++line) {
    const size_t end = text.find('\n');
    require(end != std::string_view::npos, cat("the text has a line ", fault.line));
    text.remove_prefix(end + 1);
  }
  const size_t length = std::min(text.find('\n'), text.size());
  require(fault.column <= length + 1, cat("line ", fault.line, " has a column ", fault.column));
}

void require_document_refusal(const Status& status, JsonFault fault, std::string_view text, std::string_view file,
                              std::string_view area, std::span<const std::string_view> ids) {
  std::vector<std::string_view> all = {"syntax",         "duplicate-key", "utf8", "too-large", "too-deep",
                                       "format-version", "missing-key",   "type", "value",     "unknown-key"};
  all.insert(all.end(), ids.begin(), ids.end());
  require_refusal(status, Code::invalid_argument, area, all);
  require_place(status, fault, text, file);
}

bool consists_of(std::string_view text, std::string_view letters, size_t most) {
  return !text.empty() && text.size() <= most && text.find_first_not_of(letters) == std::string_view::npos;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace backplane
