#include "json_output.hpp"

#include <cstdint>
#include <cstdio>

#include "backplane/base/text.hpp"

namespace backplane::cli {
namespace {

// All of the characters in question end in a byte whose value is the character's.
std::string escape(char last) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto value = static_cast<uint8_t>(last);
  return cat("\\u00", kHex[value >> 4], kHex[value & 15]);
}

}  // namespace

std::string terminal_json(std::string_view json) {
  std::string out;
  for (size_t at = 0; at < json.size(); ++at) {
    const bool two = json[at] == '\xc2' && at + 1 < json.size() && static_cast<uint8_t>(json[at + 1]) < 0xa0;
    if (json[at] == '\x7f')
      out += escape(json[at]);
    else if (two)
      out += escape(json[++at]);
    else
      out += json[at];
  }
  return out;
}

void print_json(const Json& json) { std::puts(terminal_json(json.dump()).c_str()); }
void print_json_line(const Json& json) { std::puts(terminal_json(json.dump(-1)).c_str()); }

}  // namespace backplane::cli
