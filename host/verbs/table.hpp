// Table: rows of text in aligned columns. The heading is bold on a terminal, unless NO_COLOR is set.
// Thread safety: values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace backplane::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> heading) : rows_{std::move(heading)} {}

  // Cells are made printable. REQUIRES: as many as the heading has.
  void add(std::vector<std::string> cells);
  // The columns named here are aligned to the right.
  void align_right(std::vector<size_t> columns) { right_ = std::move(columns); }
  // Lines with two spaces between columns and none at the end; `bold` marks the heading for a terminal.
  std::string to_string(bool bold = false) const;
  // Writes to stdout.
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> right_;
};

// The text in lines of at most `columns` characters, broken at spaces, each after the indent and with a line break at
// its end; a longer word has a line of its own.
std::string wrapped(std::string_view text, size_t columns, std::string_view indent);

}  // namespace backplane::cli
