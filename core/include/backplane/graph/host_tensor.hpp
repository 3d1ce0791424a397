// HostTensor: a dense tensor in host memory: model weights, inputs, outputs, constants.
//
// Copies share the bytes. Ownership: the bytes live as long as any copy; borrowed memory lives as long as its keeper.
// Thread safety: const access from any thread; writing needs the only copy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/file_memory.hpp"
#include "backplane/graph/types.hpp"

namespace backplane {

class HostTensor {
 public:
  HostTensor() = default;  // a null tensor: no shape, no bytes

  // Zero-filled. Errors: invalid_argument for a negative extent or one that overflows; resource_exhausted.
  static Result<HostTensor> zeros(DType dtype, std::vector<int64_t> shape);
  // Borrows `bytes`, which `keeper` keeps alive, and the memory that they lie in, if that is a file's. Errors:
  // invalid_argument if the size does not fit the shape.
  static Result<HostTensor> borrow(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes,
                                   std::shared_ptr<const void> keeper, const FileMemory* file = nullptr);
  // Copies values; T must be the C++ type of dtype (bool: uint8_t).
  template <class T>
  static HostTensor of(DType dtype, std::vector<int64_t> shape, std::span<const T> values) {
    HostTensor tensor = zeros(dtype, std::move(shape)).value();
    std::copy(values.begin(), values.end(), tensor.mutable_data<T>());
    return tensor;
  }

  // The tensor itself if its elements are aligned, as borrowed bytes need not be; else a copy. Errors:
  // resource_exhausted.
  Result<HostTensor> aligned() const;

  bool is_null() const { return null_; }
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t elements() const { return elements_; }
  std::span<const std::byte> bytes() const { return {data_, byte_count_}; }
  const std::shared_ptr<const void>& keeper() const { return keeper_; }
  // The file's memory that the bytes lie in, or null. Who has copied them may evict them.
  const FileMemory* file() const { return file_; }
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(data_);
  }
  // REQUIRES: made by zeros or of, and not yet shared.
  std::span<std::byte> mutable_bytes() { return {const_cast<std::byte*>(data_), byte_count_}; }
  template <class T>
  T* mutable_data() {
    return reinterpret_cast<T*>(const_cast<std::byte*>(data_));
  }
  // "f32 [1, 3, 48, 320]"
  std::string to_string() const;

 private:
  bool null_ = true;
  DType dtype_ = DType::kF32;
  std::vector<int64_t> shape_;
  int64_t elements_ = 0;
  const std::byte* data_ = nullptr;
  size_t byte_count_ = 0;
  std::shared_ptr<const void> keeper_;
  const FileMemory* file_ = nullptr;
};

// Product of extents. Errors: invalid_argument for a negative extent or an overflow.
Result<int64_t> element_count(std::span<const int64_t> shape);
// Bytes of a dense tensor. Errors: also if the innermost extent is not a multiple of the type's block.
Result<uint64_t> dense_bytes(DType dtype, std::span<const int64_t> shape);
// Dense byte strides, outermost first.
std::vector<int64_t> dense_strides(DType dtype, std::span<const int64_t> shape);

}  // namespace backplane
