#include "scheduler/placement/dependencies.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace backplane {
namespace {

using Edge = std::pair<NodeId, NodeId>;

class Collector {
 public:
  explicit Collector(const Graph& graph) : graph_(graph) {}

  std::vector<Edge> collect() {
    edges_.reserve(size_t{graph_.node_count()} * 2);
    for (NodeId node = 0; node < graph_.node_count(); ++node) {
      for (const TensorId input : graph_.node_inputs(node))
        if (input != kNone) read(graph_.storage_of(input), node);
      bool writes_state = false;
      for (const TensorId output : graph_.node_outputs(node))
        if (output != kNone && is_state(graph_.storage_of(output))) {
          writes_state = true;
          write_state(graph_.storage_of(output), node);
        }
      if ((graph_.node(node).flags & BP_NODE_SIDE_EFFECT) != 0 && !writes_state)
        add(last_effect_, node), last_effect_ = node;
    }
    return std::move(edges_);
  }

 private:
  struct Accesses {
    NodeId writer = kNone;
    std::vector<NodeId> readers;  // since
  };

  bool is_state(StorageId storage) const { return (graph_.storage(storage).flags & BP_TENSOR_STATE) != 0; }
  void add(NodeId before, NodeId after) {
    if (before != kNone && before != after) edges_.emplace_back(before, after);
  }

  // Only states are written more than once.
  void read(StorageId storage, NodeId node) {
    if (!is_state(storage)) return add(graph_.storage(storage).writer, node);
    Accesses& accesses = states_[storage];
    add(accesses.writer, node);
    accesses.readers.push_back(node);
  }

  void write_state(StorageId storage, NodeId node) {
    Accesses& accesses = states_[storage];
    add(accesses.writer, node);
    for (const NodeId reader : accesses.readers) add(reader, node);
    accesses = {node, {}};
  }

  const Graph& graph_;
  std::vector<Edge> edges_;
  std::unordered_map<StorageId, Accesses> states_;
  NodeId last_effect_ = kNone;
};

// The second ends of edges, by their first ends.
template <class First, class Second>
void group(const std::vector<Edge>& edges, uint32_t nodes, First first, Second second, std::vector<NodeId>& ends,
           std::vector<uint32_t>& at) {
  at.assign(nodes + 1, 0);
  for (const Edge& edge : edges) ++at[edge.*first + 1];
  for (uint32_t node = 0; node < nodes; ++node) at[node + 1] += at[node];
  ends.resize(edges.size());
  std::vector<uint32_t> next(at.begin(), at.end() - 1);
  for (const Edge& edge : edges) ends[next[edge.*first]++] = edge.*second;
}

}  // namespace

Dependencies::Dependencies(const Graph& graph) {
  const std::vector<Edge> edges = Collector(graph).collect();
  group(edges, graph.node_count(), &Edge::first, &Edge::second, after_, after_at_);
  group(edges, graph.node_count(), &Edge::second, &Edge::first, before_, before_at_);
}

}  // namespace backplane
