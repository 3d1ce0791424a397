#include "backplane/base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <numeric>

namespace backplane {
namespace {

// Levenshtein distance with two rows.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

void append_piece(std::string& out, double piece) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, piece).ptr;
  out.append(digits, end);
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += cat(i == 0 ? "" : ", ", shape[i]);
  return out + "]";
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string bytes_text(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return cat(bytes, " B");
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string counted(uint64_t count, std::string_view one, std::string_view many) {
  return cat(count, " ", count == 1 ? one : many);
}

size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0u; };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return text.empty() ? 0 : 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  const uint32_t second = byte(1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)) return 0;
  if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return 0;
  return length;
}

std::string printable(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const auto first = static_cast<uint8_t>(text[0]);
    // U+0080 to U+009F are control characters too.
    const bool control = first < 0x20 || first == 0x7F || (first == 0xC2 && static_cast<uint8_t>(text[1]) < 0xA0);
    const std::string_view character = text.substr(0, std::max<size_t>(length, 1));
    if (length != 0 && !control)
      out += character;
    else
      for (const char c : character)
        out += cat("\\x", kHex[static_cast<uint8_t>(c) >> 4], kHex[static_cast<uint8_t>(c) & 15]);
    text.remove_prefix(character.size());
  }
  return out;
}

std::string shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<uint8_t>(text[most]) & 0xC0) == 0x80) --most;
  return cat(text.substr(0, most), "...");
}

std::string closest_match(std::string_view word, std::span<const std::string> candidates) {
  const size_t limit = std::max<size_t>(1, word.size() / 3);
  size_t best = limit + 1;
  std::string match;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(to_lower(word), to_lower(candidate));
    if (distance < best) {
      best = distance;
      match = candidate;
    }
  }
  return match;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string match = closest_match(word, candidates);
  return match.empty() ? "" : cat(" (did you mean '", match, "'?)");
}

bool glob_match(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace backplane
