#include "backplane/graph/graph_arrays.hpp"

#include <algorithm>

namespace backplane {
namespace {

template <class T, class From>
uint32_t append(std::vector<T>& pool, const From& values) {
  const auto at = static_cast<uint32_t>(pool.size());
  pool.insert(pool.end(), values.begin(), values.end());
  return at;
}

}  // namespace

uint32_t GraphArrays::add_tensor(bp_tensor record, std::span<const int64_t> shape, std::span<const int64_t> strides) {
  record.rank = static_cast<uint32_t>(shape.size());
  record.shape_at = append(i64, shape);
  record.stride_at = append(i64, strides);
  tensors.push_back(record);
  return static_cast<uint32_t>(tensors.size() - 1);
}

void GraphArrays::add_node(bp_node record, std::span<const uint32_t> inputs, std::span<const uint32_t> outputs) {
  record.in_at = append(u32, inputs);
  record.in_count = static_cast<uint32_t>(inputs.size());
  record.out_at = append(u32, outputs);
  record.out_count = static_cast<uint32_t>(outputs.size());
  record.attr_at = attrs_taken_;
  record.attr_count = static_cast<uint32_t>(attrs.size()) - attrs_taken_;
  attrs_taken_ = static_cast<uint32_t>(attrs.size());
  nodes.push_back(record);
}

void GraphArrays::add_attr(const Attr& attr) {
  bp_attr record{};
  record.key = attr.key;
  const auto list = [&record](auto& pool, const auto& values, uint32_t type) {
    record.type = type;
    record.count = values.size();
    record.at = append(pool, values);
  };
  if (const auto* i = std::get_if<int64_t>(&attr.value)) {
    record.type = BP_ATTR_TYPE_I64;
    record.i = *i;
  } else if (const auto* f = std::get_if<double>(&attr.value)) {
    record.type = BP_ATTR_TYPE_F64;
    record.f = *f;
  } else if (const auto* s = std::get_if<std::string>(&attr.value)) {
    list(text, *s, BP_ATTR_TYPE_TEXT);
    text.push_back('\0');
  } else if (const auto* is = std::get_if<std::vector<int64_t>>(&attr.value)) {
    list(i64, *is, BP_ATTR_TYPE_I64S);
  } else if (const auto* fs = std::get_if<std::vector<double>>(&attr.value)) {
    list(f64, *fs, BP_ATTR_TYPE_F64S);
  }
  attrs.push_back(record);
}

uint32_t GraphArrays::add_text(std::string_view value) {
  if (value.empty()) return BP_NONE;
  const uint32_t at = append(text, value);
  text.push_back('\0');
  return at;
}

uint32_t GraphArrays::copy_tensor(const bp_graph& from, uint32_t id, uint32_t view_of) {
  bp_tensor record = *bp_tensor_at(&from, id);
  record.view_of = view_of;
  record.buffer = nullptr;
  if (record.name_at != BP_NONE) record.name_at = add_text(from.text + record.name_at);
  return add_tensor(record, {from.i64 + record.shape_at, record.rank}, {from.i64 + record.stride_at, record.rank});
}

void GraphArrays::copy_node(const bp_graph& from, uint32_t id, std::span<const uint32_t> inputs,
                            std::span<const uint32_t> outputs) {
  const bp_node record = *bp_node_at(&from, id);
  for (uint32_t a = 0; a < record.attr_count; ++a) copy_attr(from, *bp_attr_at(&from, record.attr_at + a));
  add_node(record, inputs, outputs);
}

void GraphArrays::copy_attr(const bp_graph& from, bp_attr attr) {
  if (attr.type == BP_ATTR_TYPE_TEXT) {
    attr.at = append(text, std::span(from.text + attr.at, attr.count));
    text.push_back('\0');
  } else if (attr.type == BP_ATTR_TYPE_I64S) {
    attr.at = append(i64, std::span(from.i64 + attr.at, attr.count));
  } else if (attr.type == BP_ATTR_TYPE_F64S) {
    attr.at = append(f64, std::span(from.f64 + attr.at, attr.count));
  }
  attrs.push_back(attr);
}

bool GraphArrays::has_room(uint64_t more) const {
  const size_t longest =
      std::max({tensors.size(), nodes.size(), attrs.size(), i64.size(), u32.size(), f64.size(), text.size()});
  return longest + more < BP_NONE;
}

bp_graph GraphArrays::view(uint32_t in_at, uint32_t in_count, uint32_t out_at, uint32_t out_count) const {
  bp_graph graph{};
  graph.head = {sizeof(bp_graph), BP_KIND_GRAPH, nullptr};
  graph.tensor_count = static_cast<uint32_t>(tensors.size());
  graph.tensor_stride = sizeof(bp_tensor);
  graph.node_count = static_cast<uint32_t>(nodes.size());
  graph.node_stride = sizeof(bp_node);
  graph.attr_count = static_cast<uint32_t>(attrs.size());
  graph.attr_stride = sizeof(bp_attr);
  graph.in_at = in_at;
  graph.in_count = in_count;
  graph.out_at = out_at;
  graph.out_count = out_count;
  graph.tensors = tensors.data();
  graph.nodes = nodes.data();
  graph.attrs = attrs.data();
  graph.i64 = i64.data();
  graph.i64_count = i64.size();
  graph.u32 = u32.data();
  graph.u32_count = u32.size();
  graph.f64 = f64.data();
  graph.f64_count = f64.size();
  graph.text = text.data();
  graph.text_bytes = text.size();
  return graph;
}

}  // namespace backplane
