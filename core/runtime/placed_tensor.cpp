#include "backplane/runtime/placed_tensor.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"
#include "backplane/graph/graph_arrays.hpp"
#include "graph/view_layout.hpp"

namespace backplane {
namespace {

bool add(uint64_t a, uint64_t b, uint64_t& sum) { return !__builtin_add_overflow(a, b, &sum); }
bool multiply(uint64_t a, uint64_t b, uint64_t& product) { return !__builtin_mul_overflow(a, b, &product); }
bool lies_within(uint64_t offset, uint64_t bytes, uint64_t whole) { return offset <= whole && bytes <= whole - offset; }

// Bytes from the first row's start to the last row's end; false if that is no number.
bool extent(uint64_t row_bytes, uint64_t rows, uint64_t pitch, uint64_t& bytes) {
  bytes = 0;
  if (rows == 0 || row_bytes == 0) return true;
  return multiply(rows - 1, rows == 1 ? 0 : pitch, bytes) && add(bytes, row_bytes, bytes);
}

// As touched_bytes, for strides that nobody has checked.
Result<uint64_t> checked_extent(DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides) {
  BP_TRY_ASSIGN(const uint64_t dense, dense_bytes(dtype, shape));  // checks type and extents
  if (strides.size() != shape.size())
    return invalid_argument(cat("a view of shape ", shape_text(shape), " wants ",
                                counted(shape.size(), "stride", "strides"), ", found ", shape_text(strides)));
  if (std::ranges::any_of(strides, [](int64_t stride) { return stride < 0; }))
    return invalid_argument(cat("strides below 0 are not possible: ", shape_text(strides)));
  if (dense == 0) return 0;
  const TypeLayout layout = type_layout(dtype);
  uint64_t bytes = layout.block_bytes;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const auto units = static_cast<uint64_t>(shape[axis]) / (axis + 1 == shape.size() ? layout.block_elements : 1);
    uint64_t reach = 0;
    if (!multiply(units - 1, static_cast<uint64_t>(strides[axis]), reach) || !add(bytes, reach, bytes))
      return out_of_range(
          cat("a view ", shape_text(shape), " with strides ", shape_text(strides), " reaches beyond 2^64 bytes"));
  }
  return bytes;
}

Status check_memtype(const Device& device, uint32_t memtype) {
  if (memtype < device.memory_types().size()) return {};
  return invalid_argument(
      cat(device.name(), " has no memory type ", memtype, "; it has ", device.memory_types().size()));
}

// One call where the rows follow each other on both sides, else one a row.
template <class Bytes, class Move>
Status move_rows(const ByteRows& rows, Bytes host, uint64_t host_pitch_bytes, Move&& move) {
  if (rows.row_bytes == 0) return {};
  const bool flat = rows.pitch_bytes == rows.row_bytes && host_pitch_bytes == rows.row_bytes;
  if (flat) return move(rows.offset, host.first(rows.rows * rows.row_bytes));
  for (uint64_t row = 0; row < rows.rows; ++row)
    BP_TRY(move(rows.offset + row * rows.pitch_bytes, host.subspan(row * host_pitch_bytes, rows.row_bytes)));
  return {};
}

}  // namespace

PlacedTensor::PlacedTensor(Buffer& buffer, uint64_t offset, DType dtype, std::vector<int64_t> shape,
                           std::vector<int64_t> strides, uint64_t bytes)
    : buffer_(&buffer),
      offset_(offset),
      dtype_(dtype),
      shape_(std::move(shape)),
      strides_(std::move(strides)),
      bytes_(bytes) {}

// Asks the device about a graph of that one tensor.
Result<uint64_t> PlacedTensor::bytes_needed(const Device& device, uint32_t memtype, DType dtype,
                                            std::span<const int64_t> shape) {
  BP_TRY(check_memtype(device, memtype));
  BP_TRY_ASSIGN(const uint64_t dense, dense_bytes(dtype, shape));
  bp_tensor record{};
  record.dtype = static_cast<uint32_t>(dtype);
  record.view_of = record.name_at = BP_NONE;
  record.bytes = dense;
  GraphArrays arrays;
  arrays.add_tensor(record, shape, dense_strides(dtype, shape));
  BP_TRY_ASSIGN(const uint64_t padded, device.tensor_bytes(memtype, arrays.view(), 0));
  return std::max(padded, dense);
}

Result<PlacedTensor> PlacedTensor::place(Buffer& buffer, uint64_t offset, DType dtype, std::vector<int64_t> shape) {
  if (!buffer) return failed_precondition("a tensor cannot be placed in an empty buffer");
  const Device& device = buffer.device();
  BP_TRY_ASSIGN(const uint64_t needed, bytes_needed(device, buffer.memtype(), dtype, shape));
  const MemoryType& type = device.memory_types()[buffer.memtype()];
  const std::string what = cat(type_name(dtype), " ", shape_text(shape));
  if (offset % type.alignment != 0)
    return invalid_argument(cat("a tensor ", what, " at offset ", offset, ": memory type '", type.name, "' of ",
                                device.name(), " wants multiples of ", type.alignment));
  if (!lies_within(offset, needed, buffer.bytes()))
    return out_of_range(cat("a tensor ", what, " needs ", needed, " bytes from ", offset, " on; the buffer on ",
                            device.name(), " has ", buffer.bytes()));
  BP_TRY_ASSIGN(const uint64_t dense, dense_bytes(dtype, shape));
  std::vector<int64_t> strides = dense_strides(dtype, shape);
  return PlacedTensor(buffer, offset, dtype, std::move(shape), std::move(strides), dense);
}

Result<PlacedTensor> PlacedTensor::place_at(Buffer& buffer, const void* address, DType dtype,
                                            std::vector<int64_t> shape) {
  if (!buffer) return failed_precondition("a tensor cannot be placed in an empty buffer");
  const MemoryType& type = buffer.device().memory_types()[buffer.memtype()];
  if (!type.host_visible() || !type.coherent())
    return unimplemented(cat("memory type '", type.name, "' of ", buffer.device().name(),
                             " has no addresses on the host; place the tensor at an offset"));
  BP_TRY_ASSIGN(const std::byte* const base, buffer.map(0, buffer.bytes(), BP_MAP_READ));
  BP_TRY(buffer.unmap());  // the address stays: the memory is coherent
  const auto start = reinterpret_cast<uintptr_t>(base), at = reinterpret_cast<uintptr_t>(address);
  if (at < start || at - start > buffer.bytes())
    return out_of_range(
        cat("the address lies outside the buffer of ", buffer.bytes(), " bytes on ", buffer.device().name()));
  return place(buffer, at - start, dtype, std::move(shape));
}

Result<PlacedTensor> PlacedTensor::view(uint64_t offset, std::vector<int64_t> shape,
                                        std::vector<int64_t> strides) const {
  BP_TRY_ASSIGN(const uint64_t bytes, checked_extent(dtype_, shape, strides));
  if (!lies_within(offset, bytes, bytes_))
    return out_of_range(cat("a view ", shape_text(shape), " of ", bytes, " bytes from ", offset, " on leaves ",
                            to_string(), ", which has ", bytes_, " bytes"));
  return PlacedTensor(*buffer_, offset_ + offset, dtype_, std::move(shape), std::move(strides), bytes);
}

std::string PlacedTensor::to_string() const {
  return cat(type_name(dtype_), " ", shape_text(shape_), " at ", offset_, " of ",
             *buffer_ ? buffer_->device().name() : std::string("an empty buffer"));
}

Status PlacedTensor::check_range(uint64_t offset, uint64_t bytes) const {
  if (lies_within(offset, bytes, bytes_)) return {};
  return out_of_range(
      cat("bytes ", offset, " + ", bytes, " lie outside ", to_string(), ", which has ", bytes_, " bytes"));
}

Status PlacedTensor::check_rows(const ByteRows& rows, uint64_t host_bytes, uint64_t host_pitch_bytes) const {
  const std::string what = cat(rows.rows, " rows of ", rows.row_bytes, " bytes");
  if (rows.rows > 1 && std::min(rows.pitch_bytes, host_pitch_bytes) < rows.row_bytes)
    return invalid_argument(cat(what, " overlap: they are ", rows.pitch_bytes, " bytes apart in the tensor, ",
                                host_pitch_bytes, " on the host"));
  uint64_t here = 0, host = 0;
  if (!extent(rows.row_bytes, rows.rows, rows.pitch_bytes, here) ||
      !extent(rows.row_bytes, rows.rows, host_pitch_bytes, host))
    return out_of_range(cat(what, " reach beyond 2^64 bytes"));
  if (host > host_bytes)
    return out_of_range(cat(what, ", ", host_pitch_bytes, " apart, do not fit the ", host_bytes, " bytes given"));
  return check_range(rows.offset, here).with_context(what);
}

Status PlacedTensor::set(uint64_t offset, std::span<const std::byte> source) {
  BP_TRY(check_range(offset, source.size()));
  return buffer_->write(offset_ + offset, source);
}

Status PlacedTensor::get(uint64_t offset, std::span<std::byte> target) const {
  BP_TRY(check_range(offset, target.size()));
  return buffer_->read(offset_ + offset, target);
}

Status PlacedTensor::fill(uint64_t offset, uint64_t bytes, uint8_t byte) {
  BP_TRY(check_range(offset, bytes));
  return buffer_->fill(offset_ + offset, bytes, byte);
}

Status PlacedTensor::set_rows(const ByteRows& rows, std::span<const std::byte> source, uint64_t host_pitch_bytes) {
  BP_TRY(check_rows(rows, source.size(), host_pitch_bytes));
  return move_rows(rows, source, host_pitch_bytes,
                   [this](uint64_t offset, std::span<const std::byte> row) { return set(offset, row); });
}

Status PlacedTensor::get_rows(const ByteRows& rows, std::span<std::byte> target, uint64_t host_pitch_bytes) const {
  BP_TRY(check_rows(rows, target.size(), host_pitch_bytes));
  return move_rows(rows, target, host_pitch_bytes,
                   [this](uint64_t offset, std::span<std::byte> row) { return get(offset, row); });
}

Status PlacedTensor::write(const HostTensor& value) {
  if (value.is_null() || value.dtype() != dtype_ || value.shape() != shape_)
    return invalid_argument(cat("wanted a value for ", to_string(), ", found ", value.to_string()));
  if (is_dense(dtype_, shape_, strides_)) return set(0, value.bytes());
  for (size_t axis = 0; axis < shape_.size(); ++axis)
    if (strides_[axis] == 0 && shape_[axis] > 1 && bytes_ != 0)
      return invalid_argument(cat(to_string(), " repeats its elements along axis ", axis, "; write what it shows"));
  std::vector<std::byte> whole(bytes_);  // what lies between the elements stays as it is
  BP_TRY(get(0, whole));
  scatter_dense(dtype_, shape_, strides_, value.bytes().data(), whole.data());
  return set(0, whole);
}

Result<HostTensor> PlacedTensor::read() const {
  BP_TRY_ASSIGN(HostTensor value, HostTensor::zeros(dtype_, shape_));
  if (is_dense(dtype_, shape_, strides_)) {
    BP_TRY(get(0, value.mutable_bytes()));
    return value;
  }
  std::vector<std::byte> whole(bytes_);
  BP_TRY(get(0, whole));
  gather_dense(dtype_, shape_, strides_, whole.data(), value.mutable_bytes().data());
  return value;
}

}  // namespace backplane
