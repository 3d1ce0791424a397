#include "kernels/blocks.hpp"
#include "kernels/checks.hpp"
#include "kernels/families.hpp"
#include "kernels/staged.hpp"
#include "kernels/walk.hpp"

namespace backplane_cpu {
namespace {

PrepareFn find_movement(uint32_t op) {
  switch (op) {
    case BP_OP_COPY:
    case BP_OP_CAST:
      return prepare_copy;
    case BP_OP_CONCAT:
      return prepare_concat;
    case BP_OP_PAD:
      return prepare_pad;
    case BP_OP_TILE:
      return prepare_tile;
    case BP_OP_GATHER:
      return prepare_gather;
    case BP_OP_GATHER_ELEMENTS:
      return prepare_gather_elements;
    case BP_OP_GATHER_ND:
      return prepare_gather_nd;
    case BP_OP_SCATTER_ELEMENTS:
      return prepare_scatter_elements;
    case BP_OP_SCATTER_ND:
      return prepare_scatter_nd;
    case BP_OP_SET_ROWS:
      return prepare_set_rows;
    case BP_OP_REVERSE:
      return prepare_reverse;
    case BP_OP_RESIZE:
      return prepare_resize;
    default:
      return nullptr;
  }
}

PrepareFn find_network(uint32_t op) {
  switch (op) {
    case BP_OP_MATMUL:
      return prepare_matmul;
    case BP_OP_MATMUL_INTEGER:
      return prepare_matmul_integer;
    case BP_OP_MATMUL_ID:
      return prepare_matmul_id;
    case BP_OP_GEMM:
      return prepare_gemm;
    case BP_OP_CONV:
      return prepare_conv;
    case BP_OP_CONV_INTEGER:
      return prepare_conv_integer;
    case BP_OP_CONV_TRANSPOSE:
      return prepare_conv_transpose;
    case BP_OP_IM2COL:
      return prepare_im2col;
    case BP_OP_MAX_POOL:
    case BP_OP_AVERAGE_POOL:
      return prepare_pool;
    case BP_OP_BATCH_NORM:
      return prepare_batch_norm;
    case BP_OP_INSTANCE_NORM:
    case BP_OP_GROUP_NORM:
    case BP_OP_LAYER_NORM:
    case BP_OP_RMS_NORM:
      return prepare_norm;
    case BP_OP_SOFTMAX:
    case BP_OP_LOG_SOFTMAX:
    case BP_OP_HARDMAX:
      return prepare_softmax;
    case BP_OP_LSTM:
    case BP_OP_GRU:
    case BP_OP_RNN:
      return prepare_recurrent;
    case BP_OP_ROPE:
      return prepare_rope;
    case BP_OP_ATTENTION:
      return prepare_attention;
    case BP_OP_QUANTIZE_LINEAR:
      return prepare_quantize;
    case BP_OP_DEQUANTIZE_LINEAR:
      return prepare_dequantize;
    case BP_OP_DYNAMIC_QUANTIZE_LINEAR:
      return prepare_dynamic_quantize;
    default:
      return nullptr;
  }
}

// What no kernel can handle: unknown types, too many axes, elements that straddle their grid.
void check_tensor(const TensorView& tensor, const char* role, uint32_t index) {
  const std::string who = std::string(role) + " " + std::to_string(index);
  const size_t element = element_bytes(tensor.dtype());
  const bool blocks = is_block(tensor.dtype());
  if (element == 0 && !blocks)
    refuse(who + " has type " + backplane::sdk::type_name(tensor.dtype()) + ", which has no kernel here");
  if (tensor.rank() > kMaxRank)
    refuse(who + " has rank " + std::to_string(tensor.rank()) + ", wanted at most " + std::to_string(kMaxRank));
  for (uint32_t axis = 0; axis < tensor.rank() && !blocks; ++axis)
    if (tensor.shape()[axis] > 1 && tensor.strides()[axis] % static_cast<int64_t>(element) != 0)
      refuse(who + " has a stride that is not a multiple of its element");
}

void check_operands(const NodeView& node) {
  for (uint32_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i)) check_tensor(node.input(i), "input", i);
  for (uint32_t i = 0; i < node.output_count(); ++i) {
    if (!node.has_output(i)) continue;
    check_tensor(node.output(i), "output", i);
    for (uint32_t axis = 0; axis < node.output(i).rank(); ++axis)
      if (node.output(i).shape()[axis] > 1 && node.output(i).strides()[axis] == 0)
        refuse("output " + std::to_string(i) + " has a stride of zero");
  }
}

// The families of linear algebra and networks are written for few types, but for those that widen what they need.
bool may_widen(uint32_t op) {
  if (op == BP_OP_MATMUL_ID || op == BP_OP_ATTENTION || op == BP_OP_IM2COL) return false;
  return op >> 8 == BP_OP_MATMUL >> 8 || op >> 8 == BP_OP_CONV >> 8;
}

}  // namespace

PrepareFn find_kernel(uint32_t op) {
  if (op >= BP_OP_ADD && op <= BP_OP_SHIFT_RIGHT) return prepare_binary;
  if (op == BP_OP_WHERE) return prepare_where;
  if (op == BP_OP_CLIP) return prepare_clip;
  if (op >= BP_OP_ABS && op <= BP_OP_BITWISE_NOT) return prepare_unary;
  if (op >= BP_OP_REDUCE_SUM && op <= BP_OP_REDUCE_LOG_SUM_EXP) return prepare_reduce;
  if (op == BP_OP_ARG_MAX || op == BP_OP_ARG_MIN) return prepare_arg_reduce;
  if (op == BP_OP_CUM_SUM) return prepare_cum_sum;
  if (op == BP_OP_TOP_K) return prepare_top_k;
  if (op == BP_OP_SORT) return prepare_sort;
  const PrepareFn movement = find_movement(op);
  return movement != nullptr ? movement : find_network(op);
}

Prepared prepare_kernel(const NodeView& node) {
  const PrepareFn prepare = find_kernel(node.op());
  if (prepare == nullptr)
    return Prepared::refuse(std::string("no kernel for op ") + backplane::sdk::op_name(node.op()));
  if (node.record().op_version != 1)
    return Prepared::refuse("version " + std::to_string(node.record().op_version) + " of op " +
                            backplane::sdk::op_name(node.op()) + ", wanted 1");
  try {
    check_operands(node);
    if (has_blocks(node)) return prepare_blocks(node);
    return may_widen(node.op()) ? prepare_widened(node, prepare) : prepare(node);
  } catch (const backplane::sdk::Error& e) {
    return Prepared::refuse(e.what());
  }
}

}  // namespace backplane_cpu
