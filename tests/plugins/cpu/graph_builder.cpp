#include "graph_builder.hpp"

#include "backplane/sdk/graph_view.hpp"

namespace backplane_cpu::testing {

uint32_t GraphBuilder::tensor(uint32_t dtype, const std::vector<int64_t>& shape) {
  bp_tensor record{};
  record.dtype = dtype;
  record.rank = static_cast<uint32_t>(shape.size());
  record.shape_at = static_cast<uint32_t>(i64_.size());
  i64_.insert(i64_.end(), shape.begin(), shape.end());
  record.stride_at = static_cast<uint32_t>(i64_.size());
  int64_t stride = backplane::sdk::type_layout(dtype).block_bytes;
  std::vector<int64_t> strides(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) strides[axis] = stride;
  i64_.insert(i64_.end(), strides.begin(), strides.end());
  record.view_of = BP_NONE;
  record.name_at = BP_NONE;
  record.bytes = static_cast<uint64_t>(stride);
  tensors_.push_back(record);
  return static_cast<uint32_t>(tensors_.size() - 1);
}

uint32_t GraphBuilder::view(uint32_t owner, uint64_t offset, const std::vector<int64_t>& shape) {
  const uint32_t index = tensor(tensors_[owner].dtype, shape);
  tensors_[index].view_of = owner;
  tensors_[index].offset = offset;
  return index;
}

void GraphBuilder::node(uint32_t op, std::initializer_list<uint32_t> ins, std::initializer_list<uint32_t> outs) {
  bp_node record{};
  record.op = op;
  record.op_version = 1;
  record.in_at = static_cast<uint32_t>(u32_.size());
  record.in_count = static_cast<uint32_t>(ins.size());
  u32_.insert(u32_.end(), ins);
  record.out_at = static_cast<uint32_t>(u32_.size());
  record.out_count = static_cast<uint32_t>(outs.size());
  u32_.insert(u32_.end(), outs);
  nodes_.push_back(record);
}

const bp_graph* GraphBuilder::graph() {
  graph_ = {};
  graph_.head = {sizeof graph_, BP_KIND_GRAPH, nullptr};
  graph_.tensor_count = static_cast<uint32_t>(tensors_.size());
  graph_.tensor_stride = sizeof(bp_tensor);
  graph_.node_count = static_cast<uint32_t>(nodes_.size());
  graph_.node_stride = sizeof(bp_node);
  graph_.attr_stride = sizeof(bp_attr);
  graph_.tensors = tensors_.data();
  graph_.nodes = nodes_.data();
  graph_.i64 = i64_.data();
  graph_.i64_count = i64_.size();
  graph_.u32 = u32_.data();
  graph_.u32_count = u32_.size();
  return &graph_;
}

}  // namespace backplane_cpu::testing
