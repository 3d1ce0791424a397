#include "backplane/graph/types.hpp"

namespace backplane {
namespace {

struct TypeRow {
  DType dtype;
  std::string_view name;
  TypeLayout layout;
};
constexpr TypeRow kTypes[] = {
#define BP_TYPE(NAME, id, name, block_elements, block_bytes) {DType::k##NAME, #name, {block_elements, block_bytes}},
#include "backplane/abi/types.def"
#undef BP_TYPE
};

struct OpRow {
  Op op;
  std::string_view name;
  uint32_t version;
};
constexpr OpRow kOps[] = {
#define BP_OP(NAME, id, name, version) {Op::k##NAME, #name, version},
#include "backplane/abi/ops.def"
#undef BP_OP
};

const TypeRow* find_row(DType dtype) {
  for (const TypeRow& row : kTypes)
    if (row.dtype == dtype) return &row;
  return nullptr;
}

const OpRow* find_row(Op op) {
  for (const OpRow& row : kOps)
    if (row.op == op) return &row;
  return nullptr;
}

}  // namespace

TypeLayout type_layout(DType dtype) {
  const TypeRow* row = find_row(dtype);
  return row ? row->layout : TypeLayout{};
}

std::string_view type_name(DType dtype) {
  const TypeRow* row = find_row(dtype);
  return row ? row->name : "unknown";
}

std::optional<DType> find_type(std::string_view name) {
  for (const TypeRow& row : kTypes)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

bool is_float(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

bool is_integer(DType dtype) {
  switch (dtype) {
    case DType::kI64:
    case DType::kI32:
    case DType::kI16:
    case DType::kI8:
    case DType::kU64:
    case DType::kU32:
    case DType::kU16:
    case DType::kU8:
      return true;
    default:
      return false;
  }
}

bool is_plain(DType dtype) {
  const TypeRow* row = find_row(dtype);
  return row && row->layout.block_elements == 1;
}

std::string_view op_name(Op op) {
  const OpRow* row = find_row(op);
  return row ? row->name : "unknown";
}

std::optional<Op> find_op(std::string_view name) {
  for (const OpRow& row : kOps)
    if (row.name == name) return row.op;
  return std::nullopt;
}

uint32_t op_version(Op op) {
  const OpRow* row = find_row(op);
  return row ? row->version : 0;
}

std::string_view attr_name(uint32_t key) {
  switch (key) {
#define BP_ATTR(NAME, id, name, type) \
  case id:                            \
    return #name;
#include "backplane/abi/attrs.def"
#undef BP_ATTR
    default:
      return "unknown";
  }
}

}  // namespace backplane
