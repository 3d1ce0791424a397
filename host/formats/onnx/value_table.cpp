#include "value_table.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"

namespace backplane::onnx_import {

TensorId ValueTable::add(Value value) {
  values_.push_back(std::move(value));
  return kFirstValue + static_cast<TensorId>(values_.size() - 1);
}

template <class Kind>
const Kind* ValueTable::find(TensorId id) const {
  if (is_tensor(id) || id - kFirstValue >= values_.size()) return nullptr;
  return std::get_if<Kind>(&values_[id - kFirstValue]);
}

Result<TensorId> ValueTable::add_sequence(Ids elements) {
  for (const TensorId id : elements) {
    if (!is_tensor(id) && codes(id) == kNone) {
      return unimplemented(cat("a sequence is of tensors; ", kind_text(id), " is no element of one"));
    }
  }
  BP_TRY(emit_.claim(static_cast<int64_t>(elements.size()) + 1));
  return add(std::move(elements));
}

Result<TensorId> ValueTable::add_text(const OnnxText& text) {
  std::vector<int64_t> numbers;
  for (const std::string& element : text.elements) numbers.push_back(code(element));
  BP_TRY_ASSIGN(const TensorId codes,
                emit_.constant(HostTensor::of<int64_t>(DType::kI64, text.shape, std::span<const int64_t>(numbers))));
  return add(Text{codes});
}

Result<TensorId> ValueTable::add_codes(TensorId codes) {
  if (!emit_.is_constant(codes)) BP_TRY(emit_.constant_value(codes).status());  // which says what is missing
  return add(Text{codes});
}

TensorId ValueTable::absent() { return add(Absent()); }

const ValueTable::Ids* ValueTable::sequence(TensorId id) const { return find<Ids>(id); }

bool ValueTable::is_absent(TensorId id) const { return id == kNone || find<Absent>(id); }

TensorId ValueTable::codes(TensorId id) const {
  const Text* text = find<Text>(id);
  return text ? text->codes : kNone;
}

Result<OnnxText> ValueTable::text(TensorId id) {
  constexpr int64_t kStringBytes = 32;  // of one that is empty
  BP_TRY_ASSIGN(const HostTensor numbers, emit_.constant_value(codes(id)));
  const std::span all(numbers.data<int64_t>(), static_cast<size_t>(numbers.elements()));
  OnnxText made{numbers.shape(), {}};
  for (const int64_t number : all) {
    BP_TRY_ASSIGN(std::string element, string(number));
    BP_TRY(emit_.claim(kStringBytes + static_cast<int64_t>(element.size())));
    made.elements.push_back(std::move(element));
  }
  return made;
}

int64_t ValueTable::code(const std::string& string) {
  const auto [found, is_new] = codes_.try_emplace(string, static_cast<int64_t>(strings_.size()));
  if (is_new) strings_.push_back(&found->first);
  return found->second;
}

// Zero is a code as soon as there are strings at all; what pads with others is no lowering that takes them.
Result<std::string> ValueTable::string(int64_t code) const {
  if (code >= 0 && code < static_cast<int64_t>(strings_.size())) return *strings_[static_cast<size_t>(code)];
  return internal_error(cat(code, " is no code of a string"));
}

Result<bool> ValueTable::to_tensors(Takes takes, std::span<TensorId> inputs) const {
  if (takes == Takes::values) return false;
  const size_t may_be_text = takes == Takes::tensors ? 0 : takes == Takes::first_text ? 1 : inputs.size();
  size_t found = 0;
  for (size_t at = 0; at < inputs.size(); ++at) {
    TensorId& id = inputs[at];
    if (id == kNone || is_tensor(id)) continue;
    if (at >= may_be_text || codes(id) == kNone) {
      return unimplemented(cat("its input ", at, " is ", kind_text(id), ", which is not supported there"));
    }
    id = codes(id);
    ++found;
  }
  if (found > 0 && found < std::min(may_be_text, inputs.size())) {
    return invalid_argument("some of its inputs are strings and others are numbers");
  }
  return found > 0;
}

std::string ValueTable::kind_text(TensorId id) const {
  if (is_tensor(id)) return "a tensor";
  if (sequence(id)) return "a sequence";
  return codes(id) != kNone ? "strings" : "absent";
}

}  // namespace backplane::onnx_import
