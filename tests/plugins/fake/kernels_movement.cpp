// copy, cast, concat, gather.
#include <cstring>

#include "kernels.hpp"

namespace fake {
namespace {

using backplane::sdk::Error;

// Copies `count` strided axes of equal shape, byte for byte.
void copy_elements(std::span<const int64_t> shape, const std::byte* source, std::span<const int64_t> source_strides,
                   std::byte* target, std::span<const int64_t> target_strides, size_t bytes) {
  const std::vector<int64_t> strides[] = {{source_strides.begin(), source_strides.end()},
                                          {target_strides.begin(), target_strides.end()}};
  for_each_offset(shape, strides,
                  [&](std::span<const int64_t> at) { std::memcpy(target + at[1], source + at[0], bytes); });
}

std::string refuse_same_type(const NodeView& node, uint32_t inputs, std::span<const uint32_t> attrs) {
  if (std::string why = refuse_form(node, inputs, attrs); !why.empty()) return why;
  const uint32_t dtype = node.output(0).dtype();
  if (!plain(dtype)) return refuse_type(dtype);
  return node.input(0).dtype() == dtype ? "" : "the types of input and output differ";
}

std::string refuse_copy(const NodeView& node) {
  if (std::string why = refuse_same_type(node, 1, {}); !why.empty()) return why;
  return equal(node.input(0).shape(), node.output(0).shape()) ? "" : "the shapes differ";
}

void run_copy(const NodeView&, Operands in, Operands out) {
  copy_elements(out[0].shape, in[0].data, in[0].strides, out[0].data, out[0].strides, element_bytes(out[0].dtype));
}

constexpr uint32_t kAxis[] = {BP_ATTR_AXIS};
constexpr uint32_t kTo[] = {BP_ATTR_TO};

bool castable(uint32_t dtype) { return arithmetic(dtype) || dtype == BP_TYPE_BOOL || dtype == BP_TYPE_U8; }

std::string refuse_cast(const NodeView& node) {
  if (std::string why = refuse_form(node, 1, kTo); !why.empty()) return why;
  for (const uint32_t dtype : {node.input(0).dtype(), node.output(0).dtype()})
    if (!castable(dtype)) return refuse_type(dtype);
  return equal(node.input(0).shape(), node.output(0).shape()) ? "" : "the shapes differ";
}

// Converts as C does; a float beyond the integer's range, which C leaves undefined, gives 0.
template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<From, float> && !std::is_same_v<To, float>) {
    if (!(value > -9.2e18f && value < 9.2e18f)) return To{};
    return static_cast<To>(static_cast<int64_t>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <class From>
void store_as(uint32_t dtype, std::byte* at, From value) {
  switch (dtype) {
    case BP_TYPE_F32:
      return store(at, convert<float>(value));
    case BP_TYPE_I32:
      return store(at, convert<int32_t>(value));
    case BP_TYPE_I64:
      return store(at, convert<int64_t>(value));
    case BP_TYPE_BOOL:
      return store(at, static_cast<uint8_t>(value != From{}));
    default:
      return store(at, convert<uint8_t>(value));
  }
}

void run_cast(const NodeView&, Operands in, Operands out) {
  const std::vector<int64_t> strides[] = {{in[0].strides.begin(), in[0].strides.end()},
                                          {out[0].strides.begin(), out[0].strides.end()}};
  for_each_offset(out[0].shape, strides, [&](std::span<const int64_t> at) {
    const std::byte* source = in[0].data + at[0];
    std::byte* target = out[0].data + at[1];
    if (!arithmetic(in[0].dtype)) return store_as(out[0].dtype, target, load<uint8_t>(source));
    with_arithmetic(in[0].dtype, [&](auto type) { store_as(out[0].dtype, target, load<decltype(type)>(source)); });
  });
}

std::string refuse_concat(const NodeView& node) {
  if (node.input_count() == 0) return "concat wants at least one input";
  if (std::string why = refuse_same_type(node, node.input_count(), kAxis); !why.empty()) return why;
  const auto out = node.output(0);
  const int64_t axis = node.i64(BP_ATTR_AXIS, 0);
  if (axis < 0 || axis >= int64_t{out.rank()}) return "the axis is out of range";
  int64_t sum = 0;
  for (uint32_t i = 0; i < node.input_count(); ++i) {
    const auto in = node.input(i);
    if (in.rank() != out.rank() || in.dtype() != out.dtype()) return "the inputs differ in rank or type";
    for (uint32_t k = 0; k < out.rank(); ++k)
      if (k != axis && in.shape()[k] != out.shape()[k]) return "the shapes do not fit together";
    sum += in.shape()[axis];
  }
  return sum == out.shape()[axis] ? "" : "the extents along the axis do not add up";
}

void run_concat(const NodeView& node, Operands in, Operands out) {
  const auto axis = static_cast<size_t>(node.i64(BP_ATTR_AXIS, 0));
  std::byte* target = out[0].data;
  for (const Operand& part : in) {
    copy_elements(part.shape, part.data, part.strides, target, out[0].strides, element_bytes(part.dtype));
    target += part.shape[axis] * out[0].strides[axis];
  }
}

std::string refuse_gather(const NodeView& node) {
  if (std::string why = refuse_same_type(node, 2, kAxis); !why.empty()) return why;
  const auto data = node.input(0), indices = node.input(1), out = node.output(0);
  const int64_t axis = node.i64(BP_ATTR_AXIS, 0);
  if (indices.dtype() != BP_TYPE_I64 && indices.dtype() != BP_TYPE_I32) return refuse_type(indices.dtype());
  if (axis < 0 || axis >= int64_t{data.rank()}) return "the axis is out of range";
  std::vector<int64_t> wanted(data.shape().begin(), data.shape().begin() + axis);
  wanted.insert(wanted.end(), indices.shape().begin(), indices.shape().end());
  wanted.insert(wanted.end(), data.shape().begin() + axis + 1, data.shape().end());
  return equal(wanted, out.shape()) ? "" : "the output has a wrong shape";
}

// Returns an index as a non-negative one. Throws BP_E_DATA if it lies outside the axis.
int64_t checked_index(const Operand& indices, int64_t offset, int64_t extent) {
  const int64_t index =
      indices.dtype == BP_TYPE_I64 ? load<int64_t>(indices.data + offset) : load<int32_t>(indices.data + offset);
  if (index < -extent || index >= extent)
    throw Error(BP_E_DATA,
                "gather index " + std::to_string(index) + " is outside an axis of " + std::to_string(extent));
  return index < 0 ? index + extent : index;
}

// Copies, for each element of `indices`, one slice: all axes of the data but `axis`.
void run_gather(const NodeView& node, Operands in, Operands out) {
  const auto axis = static_cast<size_t>(node.i64(BP_ATTR_AXIS, 0));
  const Operand &data = in[0], &indices = in[1];
  std::vector<int64_t> slice, slice_source, slice_target;
  for (size_t k = 0; k < data.shape.size(); ++k) {
    if (k == axis) continue;
    slice.push_back(data.shape[k]);
    slice_source.push_back(data.strides[k]);
    slice_target.push_back(out[0].strides[k < axis ? k : k - 1 + indices.shape.size()]);
  }
  const std::vector<int64_t> strides[] = {
      {indices.strides.begin(), indices.strides.end()},
      {out[0].strides.begin() + axis, out[0].strides.begin() + axis + indices.shape.size()}};
  for_each_offset(indices.shape, strides, [&](std::span<const int64_t> at) {
    const int64_t index = checked_index(indices, at[0], data.shape[axis]);
    copy_elements(slice, data.data + index * data.strides[axis], slice_source, out[0].data + at[1], slice_target,
                  element_bytes(data.dtype));
  });
}

constexpr Kernel kCopy{"copy", refuse_copy, run_copy, true};
constexpr Kernel kCast{"cast", refuse_cast, run_cast, false};
constexpr Kernel kConcat{"concat", refuse_concat, run_concat, false};
constexpr Kernel kGather{"gather", refuse_gather, run_gather, false};

}  // namespace

const Kernel* find_movement(uint32_t op) {
  switch (op) {
    case BP_OP_COPY:
      return &kCopy;
    case BP_OP_CAST:
      return &kCast;
    case BP_OP_CONCAT:
      return &kConcat;
    case BP_OP_GATHER:
      return &kGather;
    default:
      return nullptr;
  }
}

}  // namespace fake
