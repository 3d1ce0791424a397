#include "table.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "backplane/base/text.hpp"

namespace backplane::cli {
namespace {

// Characters, not bytes, of UTF-8 text.
size_t width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::to_string(bool bold) const {
  std::vector<size_t> widths(rows_[0].size());
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  std::string out;
  for (size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (size_t i = 0; i < rows_[r].size(); ++i) {
      const std::string& cell = rows_[r][i];
      const std::string space(widths[i] - width(cell), ' ');
      const bool right = std::find(right_.begin(), right_.end(), i) != right_.end();
      line += (i == 0 ? "" : "  ") + (right ? space + cell : cell + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += bold && r == 0 ? "\x1b[1m" + line + "\x1b[0m\n" : line + '\n';
  }
  return out;
}

std::string wrapped(std::string_view text, size_t columns, std::string_view indent) {
  std::string out, line;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && width(line) + 1 + width(word) > columns) out += cat(indent, std::exchange(line, {}), '\n');
    line += cat(line.empty() ? "" : " ", word);
  }
  return line.empty() ? out : cat(out, indent, line, '\n');
}

void Table::print() const {
  const bool bold = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  std::fputs(to_string(bold).c_str(), stdout);
}

}  // namespace backplane::cli
