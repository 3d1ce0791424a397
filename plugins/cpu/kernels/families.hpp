// The factories of every kernel family, one per op or group of ops. table.cpp maps ops to them.
#pragma once

#include "kernels/kernel.hpp"

namespace backplane_cpu {

// movement.cpp, gather.cpp, resize.cpp
Prepared prepare_copy(const NodeView& node);  // copy, cast
Prepared prepare_concat(const NodeView& node);
Prepared prepare_pad(const NodeView& node);
Prepared prepare_tile(const NodeView& node);
Prepared prepare_reverse(const NodeView& node);
Prepared prepare_gather(const NodeView& node);
Prepared prepare_resize(const NodeView& node);

// gather_elements.cpp, gather_nd.cpp, scatter.cpp, set_rows.cpp
Prepared prepare_gather_elements(const NodeView& node);
Prepared prepare_gather_nd(const NodeView& node);
Prepared prepare_scatter_elements(const NodeView& node);
Prepared prepare_scatter_nd(const NodeView& node);
Prepared prepare_set_rows(const NodeView& node);

// unary.cpp, binary.cpp, where.cpp, clip.cpp
Prepared prepare_unary(const NodeView& node);
Prepared prepare_binary(const NodeView& node);
Prepared prepare_where(const NodeView& node);
Prepared prepare_clip(const NodeView& node);

// reduce.cpp, arg_reduce.cpp, order.cpp
Prepared prepare_reduce(const NodeView& node);
Prepared prepare_arg_reduce(const NodeView& node);
Prepared prepare_cum_sum(const NodeView& node);
Prepared prepare_top_k(const NodeView& node);
Prepared prepare_sort(const NodeView& node);

// block_kernels.cpp: ops of block-quantised tensors, whatever the op
bool has_blocks(const NodeView& node);
Prepared prepare_blocks(const NodeView& node);

// matmul.cpp, matmul_id.cpp
Prepared prepare_matmul(const NodeView& node);
Prepared prepare_gemm(const NodeView& node);
Prepared prepare_matmul_id(const NodeView& node);

// integer_products.cpp
Prepared prepare_matmul_integer(const NodeView& node);
Prepared prepare_conv_integer(const NodeView& node);

// quantize.cpp
Prepared prepare_quantize(const NodeView& node);
Prepared prepare_dequantize(const NodeView& node);
Prepared prepare_dynamic_quantize(const NodeView& node);

// conv.cpp, conv_transpose.cpp, im2col.cpp, pool.cpp
Prepared prepare_conv(const NodeView& node);
Prepared prepare_conv_transpose(const NodeView& node);
Prepared prepare_im2col(const NodeView& node);
Prepared prepare_pool(const NodeView& node);  // max_pool, average_pool

// norm.cpp, softmax.cpp, recurrent.cpp, rope.cpp, attention.cpp
Prepared prepare_batch_norm(const NodeView& node);
Prepared prepare_norm(const NodeView& node);       // layer_norm, rms_norm, instance_norm, group_norm
Prepared prepare_softmax(const NodeView& node);    // softmax, log_softmax, hardmax
Prepared prepare_recurrent(const NodeView& node);  // lstm, gru, rnn
Prepared prepare_rope(const NodeView& node);
Prepared prepare_attention(const NodeView& node);

}  // namespace backplane_cpu
