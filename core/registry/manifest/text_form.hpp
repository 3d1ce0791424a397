// The forms of text that manifests and configuration files share: ids, versions, paths.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

namespace backplane {

// At most 64 of a-z 0-9 . _ -, the first and the last a letter or digit.
bool is_plugin_id(std::string_view text);
// The name of a C function, at most 128 characters.
bool is_symbol(std::string_view text);
// 64 lower-case hexadecimal digits.
bool is_sha256(std::string_view text);
// At most 64 of A-Z a-z 0-9 _ -.
bool is_option_name(std::string_view text);
// An operating system and a processor, such as "linux-x86_64".
bool is_platform(std::string_view text);
// major.minor.patch, and what may follow a '-' or '+'.
bool is_version(std::string_view text);
// Reads "1.0" as (1, 0), each below 65536, without leading zeros; false if it is anything else.
bool parse_version_pair(std::string_view text, uint32_t& major, uint32_t& minor);

// What makes a path unfit, or "". Nothing is expanded in it, so what asks for that is refused.
std::string_view path_fault(std::string_view path);

}  // namespace backplane
