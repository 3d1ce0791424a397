#include "lowering/text_cast.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include "backplane/base/text.hpp"

namespace backplane::onnx_import {
namespace {

template <class T>
bool parse(std::string_view text, T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    // from_chars knows more words for what is not finite than ONNX does.
    const std::string lower = to_lower(text);
    if (lower == "nan") value = std::numeric_limits<T>::quiet_NaN();
    if (lower == "inf" || lower == "+inf") value = std::numeric_limits<T>::infinity();
    if (lower == "-inf") value = -std::numeric_limits<T>::infinity();
    if (lower == "nan" || lower == "inf" || lower == "+inf" || lower == "-inf") return true;
    if (lower.find_first_of("in") != std::string::npos) return false;
  }
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

template <class T>
Result<HostTensor> parse_all(DType dtype, const OnnxText& text) {
  std::vector<T> values(text.elements.size());
  for (size_t at = 0; at < values.size(); ++at) {
    if (!parse(text.elements[at], values[at])) {
      return invalid_argument(cat("'", shortened(text.elements[at], 100), "' is no number of type ", type_name(dtype)));
    }
  }
  return HostTensor::of<T>(dtype, text.shape, std::span<const T>(values));
}

Result<HostTensor> parse_as(DType dtype, const OnnxText& text) {
  switch (dtype) {
    case DType::kF64:
      return parse_all<double>(dtype, text);
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return parse_all<float>(DType::kF32, text);
    case DType::kI64:
      return parse_all<int64_t>(dtype, text);
    case DType::kI32:
      return parse_all<int32_t>(dtype, text);
    case DType::kI16:
      return parse_all<int16_t>(dtype, text);
    case DType::kI8:
      return parse_all<int8_t>(dtype, text);
    case DType::kU64:
      return parse_all<uint64_t>(dtype, text);
    case DType::kU32:
      return parse_all<uint32_t>(dtype, text);
    case DType::kU16:
      return parse_all<uint16_t>(dtype, text);
    case DType::kU8:
      return parse_all<uint8_t>(dtype, text);
    default:
      return unimplemented(cat("ONNX does not say which strings are ", type_name(dtype)));
  }
}

template <class T>
std::string number_text(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-INF" : "INF";
    char buffer[400];  // the longest has 324 places behind the point in front of 17 digits
    const auto result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed);
    return std::string(buffer, result.ptr);
  } else {
    return std::to_string(value);
  }
}

template <class T>
OnnxText write_all(const HostTensor& x) {
  OnnxText text{x.shape(), {}};
  for (int64_t at = 0; at < x.elements(); ++at) text.elements.push_back(number_text(x.data<T>()[at]));
  return text;
}

// Integers have been widened.
Result<OnnxText> write_as(const HostTensor& x) {
  switch (x.dtype()) {
    case DType::kF64:
      return write_all<double>(x);
    case DType::kF32:
      return write_all<float>(x);
    case DType::kI64:
      return write_all<int64_t>(x);
    case DType::kU64:
      return write_all<uint64_t>(x);
    default:
      return unimplemented(cat("ONNX does not say how ", type_name(x.dtype()), " is written as a string"));
  }
}

}  // namespace

Result<TensorId> cast_from_text(NodeContext& c, TensorId strings, DType dtype) {
  BP_TRY_ASSIGN(const OnnxText text, c.values.text(strings));
  BP_TRY_ASSIGN(HostTensor parsed, parse_as(dtype, text));
  BP_TRY_ASSIGN(const TensorId made, c.emit.constant(std::move(parsed)));
  if (c.emit.dtype(made) == dtype) return made;
  return c.emit.op(Op::kCAST, {made}, {{BP_ATTR_TO, static_cast<int64_t>(dtype)}});
}

Result<TensorId> cast_to_text(NodeContext& c, TensorId x) {
  BP_TRY_ASSIGN(const int64_t elements, element_count(c.emit.shape(x)));
  constexpr int64_t kTypicalBytes = 48;  // of a string with a number
  int64_t cost = 0;
  if (__builtin_mul_overflow(elements, kTypicalBytes, &cost)) cost = INT64_MAX;
  BP_TRY(c.emit.claim(cost));
  const DType dtype = c.emit.dtype(x);
  if (is_integer(dtype) && dtype != DType::kU64 && dtype != DType::kI64) {
    BP_TRY_ASSIGN(x, c.emit.op(Op::kCAST, {x}, {{BP_ATTR_TO, static_cast<int64_t>(DType::kI64)}}));
  }
  BP_TRY_ASSIGN(const HostTensor value, c.emit.constant_value(x));
  BP_TRY_ASSIGN(const OnnxText text, write_as(value));
  return c.values.add_text(text);
}

}  // namespace backplane::onnx_import
