#include "lean_model.hpp"

#include <cstdint>

#include "backplane/base/text.hpp"

namespace backplane::onnx_import {
namespace {

// Messages within messages beyond this are no honest model; protobuf has its own limit and says so.
constexpr int kMaxDepth = 100;

enum class Kind { opaque, model, graph, node, attribute, tensor, function };

// What the field of a message holds, as onnx.proto numbers them.
Kind kind_of(Kind message, uint64_t field) {
  switch (message) {
    case Kind::model:
      return field == 7 ? Kind::graph : field == 25 ? Kind::function : Kind::opaque;
    case Kind::graph:
      return field == 1 ? Kind::node : field == 5 ? Kind::tensor : Kind::opaque;
    case Kind::function:
      return field == 7 ? Kind::node : Kind::opaque;
    case Kind::node:
      return field == 5 ? Kind::attribute : Kind::opaque;
    case Kind::attribute:
      return field == 5 || field == 10 ? Kind::tensor : field == 6 || field == 11 ? Kind::graph : Kind::opaque;
    default:
      return Kind::opaque;
  }
}

constexpr uint64_t kRawData = 9, kExternalData = 13, kDataLocation = 14;  // of TensorProto
constexpr uint64_t kKey = 1, kValue = 2;                                  // of StringStringEntryProto
constexpr uint64_t kExternal = 1;                                         // of TensorProto.DataLocation

enum Wire : uint64_t { kVarint = 0, kFixed64 = 1, kDelimited = 2, kStartGroup = 3, kEndGroup = 4, kFixed32 = 5 };

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_delimited(std::string& out, uint64_t field, std::string_view value) {
  put_varint(out, field << 3 | kDelimited);
  put_varint(out, value.size());
  out += value;
}

bool take_varint(std::string_view& from, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(from.front());
    from.remove_prefix(1);
    value |= uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// The content of a delimited value; of others nothing but that they are there. The ends of a group, which ONNX has not
// but protobuf lets pass, count as fields without a value.
bool take_value(std::string_view& from, uint64_t wire, std::string_view& value) {
  uint64_t size = 0;
  switch (wire) {
    case kVarint:
      return take_varint(from, size);
    case kStartGroup:
    case kEndGroup:
      return true;
    case kFixed64:
      size = 8;
      break;
    case kFixed32:
      size = 4;
      break;
    case kDelimited:
      if (!take_varint(from, size)) return false;
      break;
    default:
      return false;
  }
  if (size > from.size()) return false;
  value = from.substr(0, size);
  from.remove_prefix(size);
  return true;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Walker {
 public:
  Walker(std::string_view bytes, size_t large) : start_(bytes.data()), large_(large) {}

  // Appends the lean form of the message to `out`. False: not a message.
  bool walk(Kind kind, std::string_view message, std::string& out, int depth) {
    if (depth > kMaxDepth) return false;
    while (!message.empty()) {
      const std::string_view whole = message;
      uint64_t tag = 0;
      if (!take_varint(message, tag)) return false;
      std::string_view value;
      if (!take_value(message, tag & 7, value)) return false;
      const Kind inner = kind_of(kind, tag >> 3);
      const bool is_large = (tag & 7) == kDelimited && value.size() >= large_;
      if (is_large && kind == Kind::tensor && tag >> 3 == kRawData) {
        put_external(value, out);
      } else if (is_large && inner != Kind::opaque) {
        std::string lean;
        if (!walk(inner, value, lean, depth + 1)) return false;
        put_delimited(out, tag >> 3, lean);
      } else {
        out += whole.substr(0, whole.size() - message.size());
      }
    }
    return true;
  }

  bool found() const { return found_; }

 private:
  void put_external(std::string_view data, std::string& out) {
    put_entry(out, "location", kThisFile);
    put_entry(out, "offset", std::to_string(data.data() - start_));
    put_entry(out, "length", std::to_string(data.size()));
    put_varint(out, kDataLocation << 3 | kVarint);
    put_varint(out, kExternal);
    found_ = true;
  }

  static void put_entry(std::string& out, std::string_view key, std::string_view value) {
    std::string entry;
    put_delimited(entry, kKey, key);
    put_delimited(entry, kValue, value);
    put_delimited(out, kExternalData, entry);
  }

  const char* start_;
  size_t large_;
  bool found_ = false;
};

}  // namespace

std::optional<std::string> lean_model(std::span<const std::byte> bytes, size_t large) {
  if (bytes.size() < large) return std::nullopt;
  const std::string_view text = text_of(bytes);
  Walker walker(text, large);
  std::string lean;
  if (!walker.walk(Kind::model, text, lean, 0) || !walker.found()) return std::nullopt;
  return lean;
}

Status check_fields(std::span<const std::byte> message) {
  std::string_view rest = text_of(message);
  while (!rest.empty()) {
    const size_t at = message.size() - rest.size();
    uint64_t tag = 0;
    std::string_view value;
    if (!take_varint(rest, tag) || !take_value(rest, tag & 7, value)) {
      return invalid_argument(cat("not an ONNX model, or truncated: what starts at byte ", at, " of ", message.size(),
                                  " is no whole field of a protobuf message"));
    }
  }
  return ok_status();
}

}  // namespace backplane::onnx_import
