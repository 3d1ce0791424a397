// Small text tools: building messages without a formatting library in every header.
// Thread safety: pure functions.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace backplane {

inline void append_piece(std::string& out, std::string_view piece) { out += piece; }
inline void append_piece(std::string& out, char piece) { out += piece; }
void append_piece(std::string& out, double piece);
template <std::integral T>
void append_piece(std::string& out, T piece) {
  out += std::to_string(piece);
}

// Concatenates texts and numbers: cat("rank ", 3, " of ", name).
template <class... Pieces>
std::string cat(const Pieces&... pieces) {
  std::string out;
  (append_piece(out, pieces), ...);
  return out;
}

std::string join(std::span<const std::string> parts, std::string_view separator);
// "[1, 3, 48, 320]"
std::string shape_text(std::span<const int64_t> shape);
std::string to_lower(std::string_view text);
// "1.5 MiB"; exact below 1 KiB.
std::string bytes_text(uint64_t bytes);
// "1 copy", "2 copies".
std::string counted(uint64_t count, std::string_view one, std::string_view many);
// Bytes of the well-formed UTF-8 sequence at the start of `text`, or 0.
size_t utf8_length(std::string_view text);
// The text on one line that a terminal shows as it is: control characters and what is not UTF-8 become \xNN.
std::string printable(std::string_view text);
// At most `most` bytes of the text, whole characters, and "..." if that is not all.
std::string shortened(std::string_view text, size_t most);
// The closest of `candidates` to `word` if it is close enough to be a slip, else "".
std::string closest_match(std::string_view word, std::span<const std::string> candidates);
// " (did you mean 'x'?)", or "" when nothing is close.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);
// Whether `text` matches a glob of `*` and `?`.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace backplane
