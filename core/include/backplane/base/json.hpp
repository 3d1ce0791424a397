// Json: a JSON value with the place it came from, a strict parser and a writer.
//
// The parser accepts RFC 8259, with or without a UTF-8 byte order mark, and nothing more: no comments, trailing commas
// or trailing data, no duplicate keys, valid UTF-8 only, and caps on size and depth. Errors name file:line:column.
// Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backplane/base/status.hpp"

namespace backplane {

class Json {
 public:
  enum class Kind { null, boolean, integer, number, text, array, object };
  using Member = std::pair<std::string, Json>;

  Json() = default;  // null
  static Json boolean(bool value);
  static Json integer(int64_t value);
  static Json number(double value);
  static Json text(std::string value);
  static Json array(std::vector<Json> items = {});
  static Json object(std::vector<Member> members = {});

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  std::string_view kind_name() const;          // "null", "true/false", "integer", "number", "string", "array", "object"
  uint32_t line() const { return line_; }      // 1-based; 0 = not parsed
  uint32_t column() const { return column_; }  // 1-based, in bytes

  // REQUIRES: the value is of that kind. as_number accepts integers too.
  bool as_boolean() const;
  int64_t as_integer() const;
  double as_number() const;
  const std::string& as_text() const;
  const std::vector<Json>& items() const;
  const std::vector<Member>& members() const;  // in the order of the file

  // The member of that name, or null.
  const Json* find(std::string_view key) const;
  // Appends. REQUIRES: array / object. `set` replaces a member of the same name.
  void push(Json item);
  void set(std::string key, Json value);

  // indent < 0 = one line.
  std::string dump(int indent = 2) const;

 private:
  friend class JsonBuilder;
  Kind kind_ = Kind::null;
  bool boolean_ = false;
  int64_t integer_ = 0;
  double number_ = 0;
  std::string text_;
  std::vector<Json> items_;
  std::vector<Member> members_;
  uint32_t line_ = 0, column_ = 0;
};

struct JsonLimits {
  uint64_t max_bytes = 1 << 20;
  uint32_t max_depth = 32;
};

// Where a parse failed, besides the Status that says why.
struct JsonFault {
  uint32_t line = 0, column = 0;
};

// `file` is for messages. Errors: invalid_argument with id "json.syntax", "json.duplicate-key", "json.utf8",
// "json.too-large", "json.too-deep"; *fault is filled if given.
Result<Json> parse_json(std::string_view text, std::string_view file, JsonLimits limits = {},
                        JsonFault* fault = nullptr);

}  // namespace backplane
