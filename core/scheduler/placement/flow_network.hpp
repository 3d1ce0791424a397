// FlowNetwork: the cheapest way to label nodes with one of two sides, by maximum flow.
//
// Dinic's algorithm (Y. Dinitz, Soviet Math. Doklady 11, 1970), with levels counted from the sinks. Source and sink are
// implicit: each node has a capacity from the one or to the other. Deterministic; the work is counted, not timed.
// Thread safety: as a std::vector.
#pragma once

#include <cstdint>
#include <vector>

namespace backplane {

class FlowNetwork {
 public:
  static constexpr int64_t kUnlimited = int64_t{1} << 61;

  void clear();
  uint32_t add_node();
  uint32_t node_count() const { return static_cast<uint32_t>(excess_.size()); }
  // Costs `forward` if `from` is on the source's side and `to` on the sink's, `backward` the other way round.
  void add_arc(uint32_t from, uint32_t to, int64_t forward, int64_t backward);
  // Costs `on_source` if the node is on the source's side, `on_sink` if it is on the sink's.
  void add_cost(uint32_t node, int64_t on_source, int64_t on_sink) { excess_[node] += on_sink - on_source; }

  // Finds the sides of least cost. Takes what it looks at from `work`; false if that does not suffice.
  bool minimise(int64_t& work);
  // After minimise: among equal costs as few as possible are.
  bool on_sink_side(uint32_t node) const { return level_[node] != 0; }

 private:
  struct Arc {
    uint32_t to;
    uint32_t next;  // of the same node
    int64_t room;
  };
  bool leads_down(uint32_t node, const Arc& arc) const {
    return arc.room > 0 && level_[arc.to] != 0 && level_[arc.to] + 1 == level_[node];
  }
  bool find_levels(int64_t& work);
  void push_from(uint32_t source, int64_t& work);
  void push_along_path(uint32_t source, uint32_t sink);

  std::vector<int64_t> excess_;   // by node: what it gets from the source; negative = what it gives to the sink
  std::vector<uint32_t> first_;   // by node: an arc; arc a ^ 1 is its reverse
  std::vector<uint32_t> level_;   // by node: 1 + arcs on the shortest way to a sink; 0 = there is none
  std::vector<uint32_t> cursor_;  // by node: the arc to try next
  std::vector<Arc> arcs_;
  std::vector<uint32_t> queue_, path_;
};

}  // namespace backplane
