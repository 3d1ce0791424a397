#include "backplane/graph/host_tensor.hpp"

#include <unistd.h>

#include <cstring>
#include <new>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

constexpr std::align_val_t kAlignment{64};  // any vector load of any plugin

uint64_t machine_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : UINT64_MAX;
}

// A system that overcommits hands out more than it has, and kills the process when it is touched.
std::shared_ptr<std::byte> allocate_zeros(uint64_t bytes) {
  if (bytes > machine_bytes()) return nullptr;
  void* memory = ::operator new(bytes ? bytes : 1, kAlignment, std::nothrow);
  if (!memory) return nullptr;
  std::memset(memory, 0, bytes);
  return {static_cast<std::byte*>(memory), [](std::byte* p) { ::operator delete(p, kAlignment); }};
}

}  // namespace

Result<HostTensor> HostTensor::zeros(DType dtype, std::vector<int64_t> shape) {
  BP_TRY_ASSIGN(const uint64_t bytes, dense_bytes(dtype, shape));
  std::shared_ptr<std::byte> memory = allocate_zeros(bytes);
  if (!memory)
    return resource_exhausted(
        cat("host memory: no ", bytes_text(bytes), " for a tensor ", type_name(dtype), " ", shape_text(shape)));
  return borrow(dtype, std::move(shape), {memory.get(), bytes}, memory);
}

Result<HostTensor> HostTensor::borrow(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes,
                                      std::shared_ptr<const void> keeper, const FileMemory* file) {
  BP_TRY_ASSIGN(const uint64_t wanted, dense_bytes(dtype, shape));
  if (bytes.size() != wanted)
    return invalid_argument(cat("a tensor ", type_name(dtype), " ", shape_text(shape), " has ", wanted, " bytes, but ",
                                bytes.size(), " were given"));
  HostTensor tensor;
  tensor.null_ = false;
  tensor.dtype_ = dtype;
  BP_TRY_ASSIGN(tensor.elements_, element_count(shape));
  tensor.shape_ = std::move(shape);
  tensor.data_ = bytes.data();
  tensor.byte_count_ = bytes.size();
  tensor.keeper_ = std::move(keeper);
  tensor.file_ = file;
  return tensor;
}

Result<HostTensor> HostTensor::aligned() const {
  if (null_ || reinterpret_cast<uintptr_t>(data_) % type_layout(dtype_).block_bytes == 0) return *this;
  BP_TRY_ASSIGN(HostTensor copy, zeros(dtype_, shape_));
  std::memcpy(copy.mutable_bytes().data(), data_, byte_count_);
  return copy;
}

std::string HostTensor::to_string() const {
  if (null_) return "null tensor";
  return cat(type_name(dtype_), " ", shape_text(shape_));
}

// Extents of zero count as one while multiplying, so that strides of zero-size tensors cannot overflow either.
Result<int64_t> element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0) return invalid_argument(cat("shape ", shape_text(shape), " has a negative extent"));
    empty |= extent == 0;
    if (extent != 0 && __builtin_mul_overflow(count, extent, &count))
      return invalid_argument(cat("shape ", shape_text(shape), " has more than 2^63 elements"));
  }
  return empty ? 0 : count;
}

Result<uint64_t> dense_bytes(DType dtype, std::span<const int64_t> shape) {
  const TypeLayout layout = type_layout(dtype);
  if (layout.block_bytes == 0)
    return invalid_argument(
        cat("unknown element type ", static_cast<uint32_t>(dtype), " for shape ", shape_text(shape)));
  BP_TRY_ASSIGN(const int64_t elements, element_count(shape));
  if (layout.block_elements > 1 && (shape.empty() || shape.back() % layout.block_elements != 0))
    return invalid_argument(cat("the innermost extent of ", type_name(dtype), " ", shape_text(shape),
                                " is not a multiple of the type's block of ", layout.block_elements, " elements"));
  int64_t bytes = layout.block_bytes;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t extent = axis + 1 == shape.size() ? shape[axis] / layout.block_elements : shape[axis];
    if (extent != 0 && __builtin_mul_overflow(bytes, extent, &bytes))
      return invalid_argument(cat("a tensor ", type_name(dtype), " ", shape_text(shape), " has more than 2^63 bytes"));
  }
  return elements == 0 ? 0 : static_cast<uint64_t>(bytes);
}

std::vector<int64_t> dense_strides(DType dtype, std::span<const int64_t> shape) {
  const TypeLayout layout = type_layout(dtype);
  std::vector<int64_t> strides(shape.size());
  int64_t stride = layout.block_bytes;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    const int64_t extent = axis + 1 == shape.size() ? shape[axis] / layout.block_elements : shape[axis];
    if (extent > 1) stride *= extent;
  }
  return strides;
}

}  // namespace backplane
