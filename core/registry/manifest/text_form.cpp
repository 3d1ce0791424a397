#include "text_form.hpp"

#include <algorithm>

namespace backplane {
namespace {

constexpr size_t kMaxPathBytes = 4095;  // PATH_MAX without its NUL

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
bool is_lower_or_digit(char c) { return is_lower(c) || is_digit(c); }
bool is_any_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

template <class Predicate>
bool all_of(std::string_view text, Predicate predicate) {
  return std::all_of(text.begin(), text.end(), predicate);
}

// Reads decimal digits at the start of `text` and drops them; false if there are none or more than five.
bool take_number(std::string_view& text, uint32_t& number) {
  size_t digits = 0;
  number = 0;
  for (; digits < text.size() && is_digit(text[digits]); ++digits)
    if (digits < 6) number = number * 10 + static_cast<uint32_t>(text[digits] - '0');
  const bool leading_zero = digits > 1 && text[0] == '0';
  text.remove_prefix(digits);
  return digits >= 1 && digits <= 5 && !leading_zero;
}

bool take_char(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

bool is_plugin_id(std::string_view text) {
  return !text.empty() && text.size() <= 64 && is_lower_or_digit(text.front()) && is_lower_or_digit(text.back()) &&
         all_of(text, [](char c) { return is_lower_or_digit(c) || is_any_of(c, "._-"); });
}

bool is_symbol(std::string_view text) {
  return !text.empty() && text.size() <= 128 && !is_digit(text.front()) &&
         all_of(text, [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

bool is_option_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         all_of(text, [](char c) { return is_letter(c) || is_digit(c) || is_any_of(c, "_-"); });
}

bool is_platform(std::string_view text) {
  const size_t dash = text.find('-');
  return dash != std::string_view::npos && dash > 0 && dash + 1 < text.size() &&
         all_of(text.substr(0, dash), is_lower_or_digit) &&
         all_of(text.substr(dash + 1), [](char c) { return is_lower_or_digit(c) || c == '_'; });
}

bool is_version(std::string_view text) {
  uint32_t part;
  if (!take_number(text, part) || !take_char(text, '.') || !take_number(text, part) || !take_char(text, '.') ||
      !take_number(text, part))
    return false;
  return text.empty() || (text.size() > 1 && is_any_of(text[0], "-+") && all_of(text.substr(1), [](char c) {
                            return is_letter(c) || is_digit(c) || is_any_of(c, ".+-");
                          }));
}

bool parse_version_pair(std::string_view text, uint32_t& major, uint32_t& minor) {
  return take_number(text, major) && take_char(text, '.') && take_number(text, minor) && text.empty() &&
         major <= UINT16_MAX && minor <= UINT16_MAX;
}

std::string_view path_fault(std::string_view path) {
  if (path.empty()) return "it is empty";
  if (is_any_of('\0', path)) return "it contains a NUL";
  if (path.front() == '~') return "'~' is not expanded; write the whole path";
  if (is_any_of('$', path)) return "'$' is not expanded; write the whole path";
  if (path.size() > kMaxPathBytes) return "it is longer than the 4095 bytes of a path";
  return {};
}

}  // namespace backplane
