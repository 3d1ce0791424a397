// ValueTable: values that exist only while a model is imported, because op set 1 has tensors of numbers alone:
// sequences, strings, and optional values that are absent (one that is there is what it holds).
//
// Each has an id beside those of the graph's tensors, so that scopes, functions, branches and loops pass it on like a
// tensor. Strings are known at import: they are a constant of codes, a number for each different string, so that ops
// that move elements move strings. Thread safety: one importer, one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "backplane/formats/onnx.hpp"
#include "emitter.hpp"

namespace backplane::onnx_import {

// Ids from here on are no tensors of a graph: those of a ValueTable, kUnavailable and kNone.
inline constexpr TensorId kFirstValue = TensorId{1} << 31;

inline bool is_tensor(TensorId id) { return id < kFirstValue; }

// Which values other than tensors of numbers a lowering takes.
enum class Takes : uint8_t {
  tensors,
  first_text,  // its first input may be strings, and then so are its outputs
  all_text,    // all of its inputs may be, and then all are, and its outputs
  values,      // any: it looks itself
};

class ValueTable {
 public:
  using Ids = std::vector<TensorId>;

  explicit ValueTable(Emitter& emit) : emit_(emit) {}  // which outlives the table

  // Counts the elements as folding does: building a sequence of n step by step costs n^2 / 2. Errors:
  // resource_exhausted; unimplemented for an element that is neither a tensor nor strings.
  Result<TensorId> add_sequence(Ids elements);
  Result<TensorId> add_text(const OnnxText& text);
  // Strings by their codes. Errors: as Emitter::constant_value, where it is not known which strings these are.
  Result<TensorId> add_codes(TensorId codes);
  TensorId absent();

  // The elements, or null for what is no sequence. Stays as it is.
  const Ids* sequence(TensorId id) const;
  bool is_absent(TensorId id) const;
  // The codes of strings; kNone for what is none.
  TensorId codes(TensorId id) const;
  // The strings themselves. Errors: resource_exhausted beyond what folding may make.
  Result<OnnxText> text(TensorId id);
  // Each different string has a number; the other way round, the string of a number that it gave.
  int64_t code(const std::string& string);
  Result<std::string> string(int64_t code) const;

  // Puts codes in the place of strings, for a lowering of tensors. True if there were any. Errors: unimplemented for a
  // value that the lowering does not take.
  Result<bool> to_tensors(Takes takes, std::span<TensorId> inputs) const;
  // "a sequence", "strings", "a tensor" ...
  std::string kind_text(TensorId id) const;

 private:
  struct Absent {};
  struct Text {
    TensorId codes;
  };
  using Value = std::variant<Absent, Text, Ids>;

  TensorId add(Value value);
  template <class Kind>
  const Kind* find(TensorId id) const;

  Emitter& emit_;
  std::deque<Value> values_;  // of ids from kFirstValue on
  std::unordered_map<std::string, int64_t> codes_;
  std::vector<const std::string*> strings_;  // by code
};

}  // namespace backplane::onnx_import
