#include "backplane/base/json.hpp"

#include <cassert>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_set>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

struct Position {
  uint32_t line = 1, column = 1;

  void advance(char c) {
    if (c == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
};

// Follows the lexer through the text. A token starts at the first character since the last token that is neither
// space nor a separator; the lexer reads at most one character beyond a token, and that one starts none in good text.
struct Tracker {
  Position next;   // of the character that the lexer reads next
  Position last;   // of the character that it read last
  Position token;  // start of the token that it is in or has just left
  bool between_tokens = true;

  void read(char c) {
    if (between_tokens && std::string_view(" \t\r\n,:").find(c) == std::string_view::npos) {
      token = next;
      between_tokens = false;
    }
    last = next;
    next.advance(c);
  }
};

class TrackedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TrackedIterator(const char* at, Tracker* tracker) : at_(at), tracker_(tracker) {}
  const char& operator*() const { return *at_; }
  TrackedIterator& operator++() {
    tracker_->read(*at_++);
    return *this;
  }
  TrackedIterator operator++(int) {
    TrackedIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const TrackedIterator& other) const { return at_ == other.at_; }
  bool operator!=(const TrackedIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  Tracker* tracker_;
};

struct Fault {
  Position position;
  std::string id, message;
};

constexpr size_t kShownKeyBytes = 100, kShownReasonBytes = 300;  // in a message
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";      // editors of other systems put it in front

// What the lexer would let pass: bad UTF-8 outside strings, another byte order mark, and NUL, which it takes for the
// end.
std::optional<Fault> find_bad_bytes(std::string_view text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return Fault{{}, "json.utf8", "the file is UTF-16; save it as UTF-8"};
  if (text.starts_with(kByteOrderMark)) return Fault{{}, "json.syntax", "a second byte order mark"};
  Position position;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '\0') return Fault{position, "json.syntax", "a NUL byte; JSON is text"};
    const size_t length = utf8_length(text.substr(at));
    if (length == 0) return Fault{position, "json.utf8", "this is not UTF-8; save the file as UTF-8"};
    for (size_t i = 0; i < length; ++i) position.advance(text[at + i]);
    at += length;
  }
  return std::nullopt;
}

// Drops the parser's own name and position from its text: "[...] parse error at line 1, column 2: why". It quotes what
// it has read of a token, however much that is, up to the first byte of a character.
std::string reason_of(std::string_view text) {
  if (const size_t name = text.find("] "); text.starts_with('[') && name != std::string_view::npos)
    text.remove_prefix(name + 2);
  const size_t column = text.find("column ");
  const size_t colon = column == std::string_view::npos ? column : text.find(": ", column);
  return shortened(printable(colon == std::string_view::npos ? text : text.substr(colon + 2)), kShownReasonBytes);
}

}  // namespace

// The receiver of nlohmann's SAX events.
class JsonBuilder {
 public:
  JsonBuilder(Tracker& tracker, const JsonLimits& limits) : tracker_(tracker), limits_(limits) {}

  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json::boolean(value)); }
  bool number_integer(int64_t value) { return add(Json::integer(value)); }
  bool number_unsigned(uint64_t value) {
    return add(value <= INT64_MAX ? Json::integer(static_cast<int64_t>(value))
                                  : Json::number(static_cast<double>(value)));
  }
  bool number_float(double value, const std::string&) { return add(Json::number(value)); }
  bool string(std::string& value) { return add(Json::text(std::move(value))); }
  bool binary(nlohmann::json::binary_t&) { return false; }  // not in JSON text
  bool start_object(size_t) { return open(Json::object()); }
  bool start_array(size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& value) {
    Frame& frame = stack_.back();
    if (!frame.keys.insert(value).second)
      return fail("json.duplicate-key",
                  cat("the key '", shortened(value, kShownKeyBytes), "' is there twice in one object; keep one"));
    frame.key = std::move(value);
    return leave_token();
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) {
    std::string reason = reason_of(error.what());
    // A whole token in the wrong place stands where it starts; a bad one is bad at the character read last.
    const bool whole = reason.find("unexpected") != std::string::npos && !tracker_.between_tokens;
    fault_ = Fault{whole ? tracker_.token : tracker_.last, "json.syntax", std::move(reason)};
    return false;
  }

  std::optional<Fault>& fault() { return fault_; }
  Json& root() { return root_; }

 private:
  struct Frame {
    Json* container;
    std::string key;
    std::unordered_set<std::string> keys;
  };

  // Ancestors stay where they are: a container only grows while no child of it is open.
  Json* place(Json value) {
    value.line_ = tracker_.token.line;
    value.column_ = tracker_.token.column;
    if (stack_.empty()) return &(root_ = std::move(value));
    Frame& frame = stack_.back();
    Json& parent = *frame.container;
    if (parent.is(Json::Kind::array)) return &parent.items_.emplace_back(std::move(value));
    return &parent.members_.emplace_back(std::move(frame.key), std::move(value)).second;
  }
  bool add(Json value) {
    place(std::move(value));
    return leave_token();
  }
  bool open(Json container) {
    if (stack_.size() >= limits_.max_depth)
      return fail("json.too-deep", cat("nested more than ", limits_.max_depth, " deep"));
    Json* placed = place(std::move(container));
    stack_.push_back({placed, {}, {}});
    return leave_token();
  }
  bool close() {
    stack_.pop_back();
    return leave_token();
  }
  bool leave_token() {
    tracker_.between_tokens = true;
    return true;
  }
  bool fail(std::string id, std::string message) {
    fault_ = Fault{tracker_.token, std::move(id), std::move(message)};
    return false;
  }

  Tracker& tracker_;
  JsonLimits limits_;
  Json root_;
  std::vector<Frame> stack_;
  std::optional<Fault> fault_;
};

namespace {

std::optional<Fault> build(std::string_view text, const JsonLimits& limits, Json& root) {
  if (text.size() > limits.max_bytes)
    return Fault{{}, "json.too-large", cat(text.size(), " bytes; at most ", limits.max_bytes, " are read")};
  if (auto fault = find_bad_bytes(text)) return fault;
  Tracker tracker;
  JsonBuilder builder(tracker, limits);
  const TrackedIterator begin(text.data(), &tracker), end(text.data() + text.size(), &tracker);
  try {
    if (!nlohmann::json::sax_parse(begin, end, &builder) && !builder.fault())
      return Fault{tracker.last, "json.syntax", "this is not JSON"};
  } catch (const std::exception& error) {
    return Fault{tracker.last, "json.syntax", reason_of(error.what())};
  }
  root = std::move(builder.root());
  return std::move(builder.fault());
}

void write_text(std::string& out, const std::string& text) {
  out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A number that reads back as a number, never as an integer; JSON has no NaN and no infinities.
void write_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  const size_t start = out.size();
  append_piece(out, value);
  if (out.find_first_of(".e", start) == std::string::npos) out += ".0";
}

void write_break(std::string& out, int indent, int depth) {
  if (indent < 0) return;
  out += '\n';
  out.append(static_cast<size_t>(indent) * static_cast<size_t>(depth), ' ');
}

void write_value(std::string& out, const Json& value, int indent, int depth);

void write_array(std::string& out, const Json& value, int indent, int depth) {
  out += '[';
  for (size_t i = 0; i < value.items().size(); ++i) {
    if (i != 0) out += indent < 0 ? ", " : ",";
    write_break(out, indent, depth + 1);
    write_value(out, value.items()[i], indent, depth + 1);
  }
  if (!value.items().empty()) write_break(out, indent, depth);
  out += ']';
}

void write_object(std::string& out, const Json& value, int indent, int depth) {
  out += '{';
  for (size_t i = 0; i < value.members().size(); ++i) {
    if (i != 0) out += indent < 0 ? ", " : ",";
    write_break(out, indent, depth + 1);
    write_text(out, value.members()[i].first);
    out += ": ";
    write_value(out, value.members()[i].second, indent, depth + 1);
  }
  if (!value.members().empty()) write_break(out, indent, depth);
  out += '}';
}

void write_value(std::string& out, const Json& value, int indent, int depth) {
  switch (value.kind()) {
    case Json::Kind::null:
      out += "null";
      break;
    case Json::Kind::boolean:
      out += value.as_boolean() ? "true" : "false";
      break;
    case Json::Kind::integer:
      append_piece(out, value.as_integer());
      break;
    case Json::Kind::number:
      write_number(out, value.as_number());
      break;
    case Json::Kind::text:
      write_text(out, value.as_text());
      break;
    case Json::Kind::array:
      write_array(out, value, indent, depth);
      break;
    case Json::Kind::object:
      write_object(out, value, indent, depth);
      break;
  }
}

}  // namespace

Json Json::boolean(bool value) {
  Json json;
  json.kind_ = Kind::boolean;
  json.boolean_ = value;
  return json;
}

Json Json::integer(int64_t value) {
  Json json;
  json.kind_ = Kind::integer;
  json.integer_ = value;
  return json;
}

Json Json::number(double value) {
  Json json;
  json.kind_ = Kind::number;
  json.number_ = value;
  return json;
}

Json Json::text(std::string value) {
  Json json;
  json.kind_ = Kind::text;
  json.text_ = std::move(value);
  return json;
}

Json Json::array(std::vector<Json> items) {
  Json json;
  json.kind_ = Kind::array;
  json.items_ = std::move(items);
  return json;
}

Json Json::object(std::vector<Member> members) {
  Json json;
  json.kind_ = Kind::object;
  json.members_ = std::move(members);
  return json;
}

std::string_view Json::kind_name() const {
  constexpr std::string_view kNames[] = {"null", "true/false", "integer", "number", "string", "array", "object"};
  return kNames[static_cast<size_t>(kind_)];
}

bool Json::as_boolean() const {
  assert(is(Kind::boolean));
  return boolean_;
}
int64_t Json::as_integer() const {
  assert(is(Kind::integer));
  return integer_;
}
double Json::as_number() const {
  assert(is(Kind::number) || is(Kind::integer));
  return is(Kind::integer) ? static_cast<double>(integer_) : number_;
}
const std::string& Json::as_text() const {
  assert(is(Kind::text));
  return text_;
}
const std::vector<Json>& Json::items() const {
  assert(is(Kind::array));
  return items_;
}
const std::vector<Json::Member>& Json::members() const {
  assert(is(Kind::object));
  return members_;
}

const Json* Json::find(std::string_view key) const {
  for (const Member& member : members_)
    if (member.first == key) return &member.second;
  return nullptr;
}

void Json::push(Json item) {
  assert(is(Kind::array));
  items_.push_back(std::move(item));
}

void Json::set(std::string key, Json value) {
  assert(is(Kind::object));
  for (Member& member : members_)
    if (member.first == key) {
      member.second = std::move(value);
      return;
    }
  members_.emplace_back(std::move(key), std::move(value));
}

std::string Json::dump(int indent) const {
  std::string out;
  write_value(out, *this, indent, 0);
  return out;
}

Result<Json> parse_json(std::string_view text, std::string_view file, JsonLimits limits, JsonFault* fault) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Json root;
  const std::optional<Fault> found = build(text, limits, root);
  if (!found) return root;
  if (fault) *fault = {found->position.line, found->position.column};
  return invalid_argument(cat(file, ":", found->position.line, ":", found->position.column, ": ", found->message),
                          found->id);
}

}  // namespace backplane
