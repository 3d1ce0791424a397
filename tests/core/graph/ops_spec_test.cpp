// Whether docs/spec/ops.md says what shape inference accepts: ops, numbers of inputs, types of input 0, attributes.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/base/text.hpp"
#include "backplane/graph/inference.hpp"

namespace backplane {
namespace {

using Cells = std::vector<std::string>;
using Types = std::set<DType>;

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string_view::npos ? "" : std::string(text.substr(first, last - first + 1));
}

// Split at `separator`, but not within brackets.
Cells split(std::string_view text, char separator) {
  Cells parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    if (c == separator && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  for (std::string& part : parts) part = trimmed(part);
  return parts;
}

std::string first_word(std::string_view text) { return std::string(text.substr(0, text.find_first_of(" ,;?("))); }

// A row of a table of ops: column title -> cell.
using Row = std::map<std::string, std::string>;

std::map<std::string, Row> read_spec() {
  std::map<std::string, Row> ops;
  std::ifstream file(OPS_SPEC);
  EXPECT_TRUE(file.good()) << OPS_SPEC;
  Cells titles;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] != '|') {
      titles.clear();
      continue;
    }
    Cells cells = split(line, '|');
    cells = {cells.begin() + 1, cells.end() - 1};
    if (titles.empty()) {
      titles = cells;
    } else if (titles[0] == "op" && cells[0][0] != '-') {
      EXPECT_EQ(cells.size(), titles.size()) << line;
      cells.resize(titles.size());
      Row row;
      for (size_t i = 0; i < titles.size(); ++i) row[titles[i]] = cells[i];
      for (const std::string& name : split(cells[0], ','))
        EXPECT_TRUE(ops.emplace(name, row).second) << name << " has two rows";
    }
  }
  return ops;
}

std::string refusal(Op op, const std::vector<std::optional<TensorSpec>>& inputs, const AttrList& attrs = {}) {
  return infer(op, inputs, attrs).status().message();
}

std::set<std::string> accepted_attrs(Op op) {
  std::set<std::string> names;
  for (uint32_t key = 1; attr_name(key) != "unknown"; ++key)
    if (refusal(op, {}, {{key, std::string()}}).find("has no attribute") == std::string::npos)
      names.insert(std::string(attr_name(key)));
  return names;
}

std::set<std::string> written_attrs(const Row& row) {
  std::set<std::string> names;
  const std::string cell = split(row.at("attributes (default)"), ';')[0];
  if (!cell.empty())
    for (const std::string& part : split(cell, ',')) names.insert(first_word(part));
  return names;
}

// "2 to 4", "1 or more".
std::string accepted_inputs(Op op) {
  const std::string message = refusal(op, {}), before = "takes ";
  const size_t at = message.find(before) + before.size();
  return message.substr(at, message.find(" inputs") - at);
}

std::string written_inputs(const Row& row) {
  const std::string cell = row.at("inputs → outputs"), inputs = cell.substr(0, cell.find("→"));
  if (inputs.find("…") < inputs.find('[')) return "1 or more";
  const Cells parts = split(inputs, ',');
  const auto optional = std::count_if(parts.begin(), parts.end(), [](const std::string& part) {
    return part.substr(0, part.find_first_of("[(")).find('?') != std::string::npos;
  });
  return cat(parts.size() - static_cast<size_t>(optional), " to ", parts.size());
}

constexpr DType kEvery[] = {
#define BP_TYPE(NAME, id, name, block_elements, block_bytes) DType::k##NAME,
#include "backplane/abi/types.def"
#undef BP_TYPE
};

Types accepted_types(Op op) {
  const std::string count = accepted_inputs(op);
  Types types;
  for (const DType dtype : kEvery) {
    const std::vector<std::optional<TensorSpec>> inputs(std::stoul(count), TensorSpec{dtype, {256}});
    const std::string message = refusal(op, inputs), type = cat("but has ", type_name(dtype), ";");
    if (message.find("input 0 must have ") == std::string::npos || message.find(type) == std::string::npos)
      types.insert(dtype);
  }
  return types;
}

// Of a word, or of several types with strokes between them. `exact`: it is a word.
Types types_of(const std::string& text, bool& exact) {
  static const std::map<std::string, bool (*)(DType)> kWords = {
      {"float", is_float},
      {"int", is_integer},
      {"unsigned", [](DType t) { return is_integer(t) && type_name(t)[0] == 'u'; }},
      {"num", [](DType t) { return is_float(t) || is_integer(t); }},
      {"bool", [](DType t) { return t == DType::kBOOL; }},
      {"any", [](DType t) { return is_plain(t); }},
      {"stored", [](DType) { return true; }}};
  Types types;
  const auto word = kWords.find(text);
  exact = word != kWords.end();
  for (const DType dtype : kEvery) {
    const Cells names = split(text, '/');
    if (exact ? word->second(dtype) : std::find(names.begin(), names.end(), type_name(dtype)) != names.end())
      types.insert(dtype);
  }
  return types;
}

std::string written_type(const Row& row) {
  if (row.count("types")) return first_word(row.at("types"));
  const std::string inputs = row.at("inputs → outputs");
  const Cells words = split(split(inputs.substr(0, inputs.find("→")), ',')[0], ' ');
  return words.size() > 1 && words[1][0] != '[' ? words[1] : "float";
}

TEST(OpsSpec, HasEveryDefinedOpAndNoOther) {
  const std::map<std::string, Row> spec = read_spec();
  for (const auto& [name, row] : spec) {
    ASSERT_TRUE(find_op(name)) << name << " is not in ops.def";
    EXPECT_EQ(infer(*find_op(name), {}, {}).status().code(), Code::invalid_argument) << name << " has no rule";
  }
  static constexpr Op kEveryOp[] = {
#define BP_OP(NAME, id, name, version) Op::k##NAME,
#include "backplane/abi/ops.def"
#undef BP_OP
  };
  for (const Op op : kEveryOp) {
    const bool defined = infer(op, {}, {}).status().code() != Code::unimplemented;
    EXPECT_EQ(spec.count(std::string(op_name(op))), defined ? 1u : 0u) << op_name(op);
  }
}

TEST(OpsSpec, AttributesAreThoseThatInferenceKnows) {
  for (const auto& [name, row] : read_spec()) EXPECT_EQ(written_attrs(row), accepted_attrs(*find_op(name))) << name;
}

TEST(OpsSpec, InputsAreThoseThatInferenceTakes) {
  for (const auto& [name, row] : read_spec()) {
    if (!row.count("inputs → outputs")) continue;
    EXPECT_EQ(written_inputs(row), accepted_inputs(*find_op(name))) << name;
  }
}

TEST(OpsSpec, TypesAreThoseThatInferenceTakes) {
  for (const auto& [name, row] : read_spec()) {
    bool exact = false;
    const std::string text = written_type(row);
    const Types written = types_of(text, exact), accepted = accepted_types(*find_op(name));
    EXPECT_FALSE(written.empty()) << name << ": " << text;
    EXPECT_TRUE(exact ? written == accepted : std::ranges::includes(accepted, written)) << name << ": " << text;
  }
}

}  // namespace
}  // namespace backplane
