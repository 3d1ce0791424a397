#include "npy_header.hpp"

#include <array>
#include <charconv>
#include <optional>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

constexpr size_t kMaxRank = 32;

struct TypeCode {
  std::string_view code;  // kind and bytes, without the byte order
  DType dtype;
};

constexpr std::array kTypeCodes = {
    TypeCode{"f8", DType::kF64}, TypeCode{"f4", DType::kF32}, TypeCode{"f2", DType::kF16}, TypeCode{"i8", DType::kI64},
    TypeCode{"i4", DType::kI32}, TypeCode{"i2", DType::kI16}, TypeCode{"i1", DType::kI8},  TypeCode{"u8", DType::kU64},
    TypeCode{"u4", DType::kU32}, TypeCode{"u2", DType::kU16}, TypeCode{"u1", DType::kU8},  TypeCode{"b1", DType::kBOOL},
};

Result<DType> parse_descr(std::string_view descr) {
  const bool has_order = !descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos;
  const char order = has_order ? descr[0] : '=';
  const std::string_view code = has_order ? descr.substr(1) : descr;
  if (code == "O") return invalid_argument("holds Python objects, not numbers; save it with a numeric dtype");
  if (code == "?") return DType::kBOOL;
  for (const TypeCode& known : kTypeCodes) {
    if (known.code != code) continue;
    if (order == '>' && code[1] != '1')
      return invalid_argument(cat("is big-endian ('", descr, "'); save it with dtype '<", code, "'"));
    return known.dtype;
  }
  return invalid_argument(cat("has element type '", descr, "'; known are f8 f4 f2, i8 i4 i2 i1, u8 u4 u2 u1 and b1"));
}

// Reads the few Python literals that a header is made of.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Result<NpyHeader> parse() {
    BP_TRY(expect('{'));
    while (!accept('}')) {
      BP_TRY_ASSIGN(const std::string key, quoted());
      BP_TRY(expect(':'));
      BP_TRY(value_of(key));
      if (!accept(',')) {
        BP_TRY(expect('}'));
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) return fault("text after the closing '}'");
    if (!dtype_) return missing("descr");
    if (!fortran_order_) return missing("fortran_order");
    if (!shape_) return missing("shape");
    return NpyHeader{*dtype_, *fortran_order_, *shape_};
  }

 private:
  Status fault(std::string_view what) const {
    return invalid_argument(cat("has a malformed header: ", what, " at character ", at_));
  }
  static Status missing(std::string_view key) { return invalid_argument(cat("has no '", key, "' in its header")); }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char wanted) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  Status expect(char wanted) { return accept(wanted) ? ok_status() : fault(cat("no '", wanted, "'")); }

  Status value_of(const std::string& key) {
    if (key == "descr") return once(dtype_, key, descr());
    if (key == "fortran_order") return once(fortran_order_, key, boolean());
    if (key == "shape") return once(shape_, key, tuple());
    return invalid_argument(cat("has the unknown key '", key, "' in its header"));
  }

  template <class T>
  Status once(std::optional<T>& slot, const std::string& key, Result<T> value) {
    if (!value.ok()) return value.status();
    if (slot) return invalid_argument(cat("has '", key, "' twice in its header"));
    slot = std::move(value).value();
    return ok_status();
  }

  Result<std::string> quoted() {
    skip_space();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return fault("no quoted text");
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return fault("an unterminated text");
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }

  Result<DType> descr() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[') return invalid_argument("holds records, not plain numbers");
    BP_TRY_ASSIGN(const std::string text, quoted());
    return parse_descr(text);
  }

  Result<bool> boolean() {
    skip_space();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).substr(0, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    return fault("neither True nor False");
  }

  Result<std::vector<int64_t>> tuple() {
    std::vector<int64_t> extents;
    BP_TRY(expect('('));
    while (!accept(')')) {
      int64_t extent = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0) return fault("no extent that fits 64 bits");
      at_ = static_cast<size_t>(end - text_.data());
      extents.push_back(extent);
      if (extents.size() > kMaxRank) return invalid_argument(cat("has more than ", kMaxRank, " axes"));
      if (!accept(',')) {
        // Python reads (3) as a number, so a single extent needs its comma.
        if (extents.size() == 1) return fault("a shape that is not a tuple");
        BP_TRY(expect(')'));
        break;
      }
      skip_space();
    }
    return extents;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::optional<DType> dtype_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<int64_t>> shape_;
};

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view text) { return HeaderParser(text).parse(); }

std::string npy_header_text(DType dtype, const std::vector<int64_t>& shape) {
  std::string_view code;
  for (const TypeCode& known : kTypeCodes)
    if (known.dtype == dtype) code = known.code;
  std::string extents;
  for (const int64_t extent : shape) extents += cat(extents.empty() ? "" : " ", extent, ",");
  return cat("{'descr': '", code[1] == '1' ? '|' : '<', code, "', 'fortran_order': False, 'shape': (", extents, "), }");
}

}  // namespace backplane
