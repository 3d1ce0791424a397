// Strings, which are known at import.
#include <algorithm>

#include "backplane/base/text.hpp"
#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {
namespace {

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

char to_upper_ascii(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// Languages in which even the letters of ASCII change case their own way.
bool has_own_ascii(const std::string& locale) {
  const std::string language = to_lower(std::string_view(locale).substr(0, locale.find_first_of("_-.@")));
  return language == "tr" || language == "az" || language == "lt";
}

struct Normalizer {
  enum class Change { none, lower, upper } change = Change::none;
  bool is_case_sensitive = false;
  std::vector<std::string> stopwords;  // in lower case if case does not count

  bool needs_case() const { return change != Change::none || (!is_case_sensitive && !stopwords.empty()); }
  bool drops(const std::string& text) const {
    return std::count(stopwords.begin(), stopwords.end(), is_case_sensitive ? text : to_lower(text)) > 0;
  }
  std::string changed(std::string text) const {
    if (change == Change::lower) return to_lower(text);
    if (change == Change::upper) std::transform(text.begin(), text.end(), text.begin(), to_upper_ascii);
    return text;
  }
};

Result<Normalizer> normalizer_of(NodeContext& c) {
  const std::string change = c.text("case_change_action", "NONE");
  if (change != "NONE" && change != "LOWER" && change != "UPPER") {
    return invalid_argument(cat("case_change_action must be NONE, LOWER or UPPER, found '", change, "'"));
  }
  using Change = Normalizer::Change;
  Normalizer made{change == "LOWER"   ? Change::lower
                  : change == "UPPER" ? Change::upper
                                      : Change::none,
                  c.i64("is_case_sensitive", 0) != 0, c.texts("stopwords")};
  if (made.needs_case() && has_own_ascii(c.text("locale", ""))) {
    return unimplemented(cat("it changes case as locale '", c.text("locale", ""), "' wants it"));
  }
  for (std::string& word : made.stopwords) {
    if (made.is_case_sensitive) break;
    if (!is_ascii(word)) return unimplemented(cat("it ignores the case of '", word, "', which is not ASCII"));
    word = to_lower(word);
  }
  return made;
}

// What Unicode and languages make of other letters than ASCII's is not known here, so no case of theirs is changed.
Status string_normalizer(NodeContext& c) {
  if (c.values.codes(c.in(0)) == kNone) return invalid_argument("its input must be strings");
  BP_TRY_ASSIGN(const Normalizer normalizer, normalizer_of(c));
  BP_TRY_ASSIGN(const OnnxText x, c.values.text(c.in(0)));
  const bool has_rows = x.shape.size() == 2 && x.shape[0] == 1;
  if (x.shape.size() != 1 && !has_rows) {
    return invalid_argument(cat("it needs strings [C] or [1, C], found ", shape_text(x.shape)));
  }
  OnnxText y;
  for (const std::string& element : x.elements) {
    if (normalizer.needs_case() && !is_ascii(element)) {
      return unimplemented(cat("it changes or ignores the case of '", element, "', which is not ASCII"));
    }
    if (!normalizer.drops(element)) y.elements.push_back(normalizer.changed(element));
  }
  if (y.elements.empty()) y.elements.emplace_back();
  y.shape = x.shape;
  y.shape.back() = static_cast<int64_t>(y.elements.size());
  return c.set(0, c.values.add_text(y));
}

}  // namespace

std::span<const Lowering> text_lowerings() {
  static constexpr Lowering kRows[] = {Lowering{"StringNormalizer", 10, 1, string_normalizer}.taking(Takes::values)};
  return kRows;
}

}  // namespace backplane::onnx_import
