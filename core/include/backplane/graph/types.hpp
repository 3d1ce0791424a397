// Element types and ops as C++ enums, generated from the ABI's registries. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "backplane/abi/graph.h"

namespace backplane {

enum class DType : uint32_t {
#define BP_TYPE(NAME, id, name, block_elements, block_bytes) k##NAME = id,
#include "backplane/abi/types.def"
#undef BP_TYPE
};

enum class Op : uint32_t {
#define BP_OP(NAME, id, name, version) k##NAME = id,
#include "backplane/abi/ops.def"
#undef BP_OP
};

// Ids of tensors, nodes and storages: dense from 0 within one graph. kNone = absent.
using TensorId = uint32_t;
using NodeId = uint32_t;
using StorageId = uint32_t;
inline constexpr uint32_t kNone = BP_NONE;

struct TypeLayout {
  uint32_t block_elements = 1;
  uint32_t block_bytes = 0;
};

// {1, 0} for an unknown type.
TypeLayout type_layout(DType dtype);
// "f32"; "unknown" for an unknown type.
std::string_view type_name(DType dtype);
std::optional<DType> find_type(std::string_view name);
bool is_float(DType dtype);    // f64 f32 f16 bf16
bool is_integer(DType dtype);  // not bool
bool is_plain(DType dtype);    // not block-quantised

// "matmul"; "unknown" for an unknown op.
std::string_view op_name(Op op);
std::optional<Op> find_op(std::string_view name);
uint32_t op_version(Op op);
// "axis"; "unknown" for an unknown key.
std::string_view attr_name(uint32_t key);

}  // namespace backplane
