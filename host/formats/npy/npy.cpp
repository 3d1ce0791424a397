#include "backplane/formats/npy.hpp"

#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "backplane/base/text.hpp"
#include "npy_header.hpp"

namespace backplane {
namespace {

static_assert(std::endian::native == std::endian::little, "data is copied as it is in the file");

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kPrefixBytes = 10;    // magic, version, 16-bit header length
constexpr size_t kDataAlignment = 64;  // as NumPy pads it

// A file cut into its header text and its data.
struct Sections {
  std::string_view header, data;
};

Result<Sections> split_sections(std::string_view bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic) return invalid_argument("is not an .npy file: the magic is missing");
  if (bytes.size() < kPrefixBytes) return invalid_argument("is truncated within its prefix");
  const auto byte_at = [&](size_t at) { return static_cast<size_t>(static_cast<unsigned char>(bytes[at])); };
  const size_t version = byte_at(6);
  if (version < 1 || version > 3 || byte_at(7) != 0)
    return invalid_argument(cat("has format version ", version, ".", byte_at(7), "; known are 1.0, 2.0 and 3.0"));
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t header_at = 8 + length_bytes;
  if (bytes.size() < header_at) return invalid_argument("is truncated within its prefix");
  size_t length = 0;
  for (size_t i = length_bytes; i-- > 0;) length = length << 8 | byte_at(8 + i);
  if (length > bytes.size() - header_at)
    return invalid_argument(cat("is truncated: its header of ", length, " bytes goes beyond the end"));
  return Sections{bytes.substr(header_at, length), bytes.substr(header_at + length)};
}

// Copies column-major data into row-major order: walks the target in order, keeping the source offset by axis.
void transpose_copy(std::string_view source, size_t element_bytes, const std::vector<int64_t>& shape,
                    std::span<std::byte> target) {
  std::vector<size_t> index(shape.size()), stride(shape.size());
  size_t step = element_bytes;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    stride[axis] = step;
    step *= static_cast<size_t>(shape[axis]);
  }
  size_t from = 0;
  for (size_t to = 0; to < target.size(); to += element_bytes) {
    std::memcpy(target.data() + to, source.data() + from, element_bytes);
    for (size_t axis = shape.size(); axis-- > 0;) {
      from += stride[axis];
      if (++index[axis] < static_cast<size_t>(shape[axis])) break;
      from -= stride[axis] * index[axis];
      index[axis] = 0;
    }
  }
}

// A bool tensor holds 0 or 1 everywhere in Backplane; kernels rely on it.
Status check_bools(std::string_view data) {
  for (size_t i = 0; i < data.size(); ++i)
    if (static_cast<unsigned char>(data[i]) > 1)
      return invalid_argument(cat("has element ", i, " of type bool that is neither 0 nor 1"));
  return ok_status();
}

Result<HostTensor> parse(std::string_view bytes) {
  BP_TRY_ASSIGN(const Sections sections, split_sections(bytes));
  BP_TRY_ASSIGN(const NpyHeader header, parse_npy_header(sections.header));
  BP_TRY_ASSIGN(const uint64_t wanted, dense_bytes(header.dtype, header.shape));
  if (wanted != sections.data.size())
    return invalid_argument(cat(wanted > sections.data.size() ? "is truncated: " : "has trailing data: ", "shape ",
                                shape_text(header.shape), " of ", type_name(header.dtype), " takes ", wanted,
                                " bytes, found ", sections.data.size()));
  if (header.dtype == DType::kBOOL) BP_TRY(check_bools(sections.data));
  BP_TRY_ASSIGN(HostTensor tensor, HostTensor::zeros(header.dtype, header.shape));
  const std::span<std::byte> target = tensor.mutable_bytes();
  if (header.fortran_order && header.shape.size() > 1)
    transpose_copy(sections.data, type_layout(header.dtype).block_bytes, header.shape, target);
  else if (!target.empty())
    std::memcpy(target.data(), sections.data.data(), target.size());
  return tensor;
}

HostTensor widen_bf16(const HostTensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  const uint16_t* bits = tensor.data<uint16_t>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::bit_cast<float>(static_cast<uint32_t>(bits[i]) << 16);
  return HostTensor::of<float>(DType::kF32, tensor.shape(), values);
}

}  // namespace

Result<HostTensor> parse_npy(std::string_view bytes, const std::string& name) {
  Result<HostTensor> tensor = parse(bytes);
  if (tensor.ok()) return tensor;
  return Status(tensor.status().code(), cat("'", name, "' ", tensor.status().message()), tensor.status().id());
}

Result<HostTensor> read_npy(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return not_found(cat("there is no file '", path, "'"));
  if (!std::filesystem::is_regular_file(status)) return invalid_argument(cat("'", path, "' is not a regular file"));
  std::ifstream file(path, std::ios::binary);
  if (!file) return invalid_argument(cat("cannot read '", path, "': ", std::strerror(errno)));
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) return invalid_argument(cat("cannot read '", path, "' to its end"));
  return parse_npy(bytes, path);
}

Status write_npy(const std::string& path, const HostTensor& tensor) {
  if (tensor.is_null()) return invalid_argument(cat("no value to write to '", path, "'"));
  if (!is_plain(tensor.dtype()))
    return unimplemented(cat("cannot write ", tensor.to_string(), " to '", path, "': .npy has no quantised types"));
  if (tensor.dtype() == DType::kBF16) return write_npy(path, widen_bf16(tensor));
  std::string header = npy_header_text(tensor.dtype(), tensor.shape());
  const size_t unpadded = kPrefixBytes + header.size() + 1;
  header.append((kDataAlignment - unpadded % kDataAlignment) % kDataAlignment, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  const char version_and_length[] = {1, 0, static_cast<char>(header.size() & 0xff),
                                     static_cast<char>(header.size() >> 8)};
  file.write(kMagic.data(), kMagic.size());
  file.write(version_and_length, sizeof version_and_length);
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  file.write(reinterpret_cast<const char*>(tensor.bytes().data()), static_cast<std::streamsize>(tensor.bytes().size()));
  file.close();
  if (!file) return invalid_argument(cat("cannot write '", path, "': ", std::strerror(errno)));
  return ok_status();
}

}  // namespace backplane
