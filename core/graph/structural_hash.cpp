#include "structural_hash.hpp"

#include <bit>
#include <span>
#include <vector>

#include "backplane/base/hash.hpp"

namespace backplane {
namespace {

// Collects words and hashes them in blocks, so that a large graph needs little memory.
class WordHasher {
 public:
  void add(uint64_t word) {
    words_.push_back(word);
    if (words_.size() == kBlock) flush();
  }
  template <class T>
  void add_list(const T* values, uint64_t count) {
    add(count);
    for (uint64_t i = 0; i < count; ++i) add(static_cast<uint64_t>(values[i]));
  }
  uint64_t finish() {
    flush();
    return hash_ ? hash_ : 1;
  }

 private:
  static constexpr size_t kBlock = 4096;
  void flush() {
    hash_ = hash_bytes(std::as_bytes(std::span(words_)), hash_);
    words_.clear();
  }
  std::vector<uint64_t> words_;
  uint64_t hash_ = 0;
};

void add_tensor(WordHasher& hasher, const bp_graph& graph, const bp_tensor& tensor) {
  hasher.add(tensor.dtype);
  hasher.add(tensor.flags);
  hasher.add(tensor.view_of);
  hasher.add(tensor.offset);
  hasher.add(tensor.bytes);
  hasher.add_list(graph.i64 + tensor.shape_at, tensor.rank);
  hasher.add_list(graph.i64 + tensor.stride_at, tensor.rank);
}

void add_attr(WordHasher& hasher, const bp_graph& graph, const bp_attr& attr) {
  hasher.add(attr.key);
  hasher.add(attr.type);
  hasher.add(attr.flags);
  switch (attr.type) {
    case BP_ATTR_TYPE_I64:
      return hasher.add(static_cast<uint64_t>(attr.i));
    case BP_ATTR_TYPE_F64:
      return hasher.add(std::bit_cast<uint64_t>(attr.f));
    case BP_ATTR_TYPE_TEXT:
      return hasher.add_list(graph.text + attr.at, attr.count);
    case BP_ATTR_TYPE_I64S:
      return hasher.add_list(graph.i64 + attr.at, attr.count);
    case BP_ATTR_TYPE_F64S:
      hasher.add(attr.count);
      for (uint64_t i = 0; i < attr.count; ++i) hasher.add(std::bit_cast<uint64_t>(graph.f64[attr.at + i]));
      return;
    case BP_ATTR_TYPE_BLOB:
      return hasher.add_list(graph.blob + attr.at, attr.count);
  }
}

void add_node(WordHasher& hasher, const bp_graph& graph, const bp_node& node) {
  hasher.add(node.op);
  hasher.add(node.op_version);
  hasher.add(node.flags);
  hasher.add_list(graph.u32 + node.in_at, node.in_count);
  hasher.add_list(graph.u32 + node.out_at, node.out_count);
  hasher.add(node.attr_count);
  for (uint32_t a = 0; a < node.attr_count; ++a) add_attr(hasher, graph, *bp_attr_at(&graph, node.attr_at + a));
}

}  // namespace

uint64_t structural_hash(const bp_graph& graph) {
  WordHasher hasher;
  hasher.add(graph.tensor_count);
  for (uint32_t t = 0; t < graph.tensor_count; ++t) add_tensor(hasher, graph, *bp_tensor_at(&graph, t));
  hasher.add(graph.node_count);
  for (uint32_t n = 0; n < graph.node_count; ++n) add_node(hasher, graph, *bp_node_at(&graph, n));
  hasher.add_list(graph.u32 + graph.in_at, graph.in_count);
  hasher.add_list(graph.u32 + graph.out_at, graph.out_count);
  return hasher.finish();
}

}  // namespace backplane
