// PlacedTensor: a tensor at an offset of a Buffer, or a view of one, and the host's access to its bytes and values.
//
// Every range is checked, overflow included, against the tensor itself: what lies beside it in the buffer cannot be
// touched. Ownership: borrows the Buffer, which must not move or end before. Thread safety: as the Buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/host_tensor.hpp"
#include "backplane/runtime/device.hpp"

namespace backplane {

// Rows of equal length within a tensor.
struct ByteRows {
  uint64_t offset = 0;  // of the first row, from the tensor's first byte
  uint64_t row_bytes = 0;
  uint64_t rows = 1;
  uint64_t pitch_bytes = 0;  // from one row to the next, at least row_bytes; ignored if rows is 1
};

class PlacedTensor {
 public:
  // Bytes that a dense tensor needs in a memory type, the plugin's padding included. Errors: invalid_argument for a
  // shape or memory type that cannot be; what the device answers.
  static Result<uint64_t> bytes_needed(const Device& device, uint32_t memtype, DType dtype,
                                       std::span<const int64_t> shape);

  // Puts a dense tensor at an offset; its bytes are those that are there. Errors: invalid_argument if the offset is not
  // aligned for the memory type; out_of_range if it does not fit with its padding; failed_precondition for an empty
  // buffer; as bytes_needed.
  static Result<PlacedTensor> place(Buffer& buffer, uint64_t offset, DType dtype, std::vector<int64_t> shape);
  // The same, at an address within the buffer. Errors: also unimplemented for memory that the host cannot address.
  static Result<PlacedTensor> place_at(Buffer& buffer, const void* address, DType dtype, std::vector<int64_t> shape);

  // Shows part of the tensor under another shape, from `offset` bytes on; strides in bytes, 0 = repeated. Errors:
  // invalid_argument for strides of another rank or below 0; out_of_range if it would leave the tensor.
  Result<PlacedTensor> view(uint64_t offset, std::vector<int64_t> shape, std::vector<int64_t> strides) const;

  Buffer& buffer() const { return *buffer_; }
  uint64_t offset() const { return offset_; }  // bytes from the buffer's start
  uint64_t bytes() const { return bytes_; }    // from the first element's start to the last one's end
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  const std::vector<int64_t>& strides() const { return strides_; }  // bytes
  // "f32 [2, 3] at 128 of gpu0"
  std::string to_string() const;

  // ---- bytes, from the tensor's first one on. Blocking. Errors: out_of_range, and nothing is touched.
  Status set(uint64_t offset, std::span<const std::byte> source);
  Status get(uint64_t offset, std::span<std::byte> target) const;
  Status fill(uint64_t offset, uint64_t bytes, uint8_t byte);
  // Rows here are `rows.pitch_bytes` apart, in host memory `host_pitch_bytes`. Errors: also invalid_argument if rows
  // overlap on either side.
  Status set_rows(const ByteRows& rows, std::span<const std::byte> source, uint64_t host_pitch_bytes);
  Status get_rows(const ByteRows& rows, std::span<std::byte> target, uint64_t host_pitch_bytes) const;

  // ---- values, whatever the strides. Blocking.
  // Errors: invalid_argument for another type or shape, or for a view that shows an element more than once.
  Status write(const HostTensor& value);
  Result<HostTensor> read() const;

 private:
  PlacedTensor(Buffer& buffer, uint64_t offset, DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides,
               uint64_t bytes);
  Status check_range(uint64_t offset, uint64_t bytes) const;
  Status check_rows(const ByteRows& rows, uint64_t host_bytes, uint64_t host_pitch_bytes) const;

  Buffer* buffer_;
  uint64_t offset_;
  DType dtype_;
  std::vector<int64_t> shape_, strides_;
  uint64_t bytes_;
};

}  // namespace backplane
