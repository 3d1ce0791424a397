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
// The closest of `candidates` to `word` if it is close enough to be a slip, else "".
std::string closest_match(std::string_view word, std::span<const std::string> candidates);
// " (did you mean 'x'?)", or "" when nothing is close.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);
// Whether `text` matches a glob of `*` and `?`.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace backplane
