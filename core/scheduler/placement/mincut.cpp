#include "scheduler/placement/mincut.hpp"

#include <algorithm>
#include <utility>

#include "scheduler/placement/flow_network.hpp"

namespace backplane {
namespace {

constexpr int kSweeps = 3;
// Nodes that one cut may move; the others around them stay where they are meanwhile. Cuts of larger parts would take in
// all of a long graph for the sake of one place.
constexpr size_t kMostVariables = 4096;
// A storage with more readers, as a mask for all layers, is near to everything: it does not make its readers movable.
constexpr size_t kMostReaders = 1024;

using Pair = std::pair<uint32_t, uint32_t>;

class Cutter {
 public:
  Cutter(Communication& communication, const Choices& choices, std::vector<uint32_t>& devices, int64_t& work)
      : communication_(communication),
        graph_(communication.graph()),
        choices_(choices),
        devices_(devices),
        work_(work),
        node_part_(graph_.node_count(), 0),
        storage_part_(graph_.storage_count(), 0),
        flow_node_(graph_.node_count(), 0) {}

  void run() {
    for (int sweep = 0; sweep < kSweeps && work_ > 0; ++sweep) {
      changed_ = false;
      collect_seeds();
      for (size_t i = 0; i < seeds_.size() && work_ > 0;) {
        const Pair pair = seeds_[i].first;
        first_part_ = part_ + 1;
        a_ = pair.first;
        b_ = pair.second;
        for (; i < seeds_.size() && seeds_[i].first == pair && work_ > 0; ++i)
          if (storage_part_[seeds_[i].second] < first_part_) improve_around(seeds_[i].second);
      }
      if (!changed_) break;
    }
  }

 private:
  using Seed = std::pair<Pair, StorageId>;

  // The storages that cross between two devices, and where nodes cost anything also those of each node that has a
  // choice, by pair.
  void collect_seeds() {
    seeds_.clear();
    const bool nodes_cost = communication_.costs().nodes_cost();
    for (StorageId storage = 0; storage < graph_.storage_count(); ++storage) {
      if (!communication_.is_copied(storage)) continue;
      const uint32_t from = communication_.source(storage, devices_);
      uint32_t last = from;
      for (const NodeId reader : communication_.readers(storage)) {
        const uint32_t to = devices_[reader];
        if (to == last || to == from) continue;
        last = to;
        if (communication_.copy_ns(storage, from, to) != 0) seeds_.push_back({std::minmax(from, to), storage});
      }
      if (nodes_cost) add_node_seeds(storage);
    }
    work_ -= graph_.storage_count();
    std::ranges::sort(seeds_);
    seeds_.erase(std::unique(seeds_.begin(), seeds_.end()), seeds_.end());
  }

  void add_node_seeds(StorageId storage) {
    const NodeId node = communication_.producer(storage);
    if (node == kNone || !choices_.is_free(node)) return;
    for (uint32_t device = 0; device < communication_.capability().device_count(); ++device)
      if (device != devices_[node] && choices_.allows(node, device))
        seeds_.push_back({std::minmax(devices_[node], device), storage});
  }

  bool is_variable(NodeId node) const {
    if (node_part_[node] >= first_part_) return node_part_[node] == part_;
    return !closed_ && nodes_.size() < kMostVariables && (devices_[node] == a_ || devices_[node] == b_) &&
           choices_.is_free(node) && choices_.allows(node, a_) && choices_.allows(node, b_);
  }

  // Solves the part of the graph around a storage that free nodes hold together.
  void improve_around(StorageId seed) {
    ++part_;
    flow_.clear();
    nodes_.clear();
    storages_.clear();
    reach(seed);
    add_storages();
    if (nodes_.empty() || work_ <= 0) return;
    const int64_t before = cost();
    if (before == 0 || !flow_.minimise(work_)) return;
    std::vector<uint32_t> old;
    for (const NodeId node : nodes_) {
      old.push_back(devices_[node]);
      devices_[node] = flow_.on_sink_side(flow_node_[node]) ? b_ : a_;
    }
    if (cost() < before) {
      changed_ = true;
      return;
    }
    for (size_t i = 0; i < nodes_.size(); ++i) devices_[nodes_[i]] = old[i];
  }

  // Those that everybody reads come last, when all that may move is known.
  void add_storages() {
    closed_ = false;
    const auto is_wide = [this](StorageId storage) { return communication_.readers(storage).size() > kMostReaders; };
    for (size_t i = 0; i < storages_.size() && work_ > 0; ++i)
      if (!is_wide(storages_[i])) add_storage(storages_[i]);
    closed_ = true;
    for (size_t i = 0; i < storages_.size() && work_ > 0; ++i)
      if (is_wide(storages_[i])) add_storage(storages_[i]);
  }

  int64_t cost() {
    int64_t sum = 0;
    for (const StorageId storage : storages_) {
      sum += communication_.storage_ns(storage, devices_);
      work_ -= 1 + static_cast<int64_t>(communication_.readers(storage).size());
    }
    if (communication_.costs().nodes_cost())
      for (const NodeId node : nodes_) sum += communication_.costs().node_ns(graph_, node, devices_[node]);
    return sum;
  }

  void reach(StorageId storage) {
    if (storage_part_[storage] == part_ || !communication_.is_copied(storage)) return;
    storage_part_[storage] = part_;
    storages_.push_back(storage);
  }

  // The node of the network of a variable; its storages then matter too.
  uint32_t variable(NodeId node) {
    if (node_part_[node] == part_) return flow_node_[node];
    node_part_[node] = part_;
    nodes_.push_back(node);
    for (const auto tensors : {graph_.node_inputs(node), graph_.node_outputs(node)})
      for (const TensorId tensor : tensors)
        if (tensor != kNone) reach(graph_.storage_of(tensor));
    flow_node_[node] = flow_.add_node();
    const CostModel& costs = communication_.costs();
    if (costs.nodes_cost())
      flow_.add_cost(flow_node_[node], costs.node_ns(graph_, node, a_), costs.node_ns(graph_, node, b_));
    return flow_node_[node];
  }

  // The source's side of the network is device a, the sink's device b.
  void add_storage(StorageId storage) {
    bool read_on_a = false, read_on_b = false;
    free_readers_.clear();
    NodeId last = kNone;
    for (const NodeId reader : communication_.readers(storage)) {
      if (reader == last) continue;
      last = reader;
      if (is_variable(reader))
        free_readers_.push_back(reader);
      else
        read_on_a |= devices_[reader] == a_, read_on_b |= devices_[reader] == b_;
    }
    work_ -= 1 + static_cast<int64_t>(communication_.readers(storage).size());
    const NodeId producer = communication_.producer(storage);
    if (producer != kNone && is_variable(producer)) {
      const uint32_t p = variable(producer);
      add_elsewhere(storage, producer, p);
      add_copies(communication_.copy_ns(storage, a_, b_), p, /*producer_on_a=*/true, read_on_b);
      add_copies(communication_.copy_ns(storage, b_, a_), p, /*producer_on_a=*/false, read_on_a);
      return;
    }
    const uint32_t from = communication_.source(storage, devices_);
    if (from != b_ && !read_on_b) add_copy_from_fixed(communication_.copy_ns(storage, from, b_), /*to_a=*/false);
    if (from != a_ && !read_on_a) add_copy_from_fixed(communication_.copy_ns(storage, from, a_), /*to_a=*/true);
  }

  // Copies to third devices, which may be dearer from one of the two.
  void add_elsewhere(StorageId storage, NodeId producer, uint32_t p) {
    elsewhere_.clear();
    for (const NodeId reader : communication_.readers(storage)) {
      const uint32_t to = devices_[reader];
      if (to == a_ || to == b_ || reader == producer || std::ranges::find(elsewhere_, to) != elsewhere_.end()) continue;
      elsewhere_.push_back(to);
      flow_.add_cost(p, communication_.copy_ns(storage, a_, to), communication_.copy_ns(storage, b_, to));
    }
  }

  // A copy of what p produces on one of the devices, if it is read on the other.
  void add_copies(int64_t ns, uint32_t p, bool producer_on_a, bool surely_read) {
    if (ns == 0) return;
    if (surely_read) {
      flow_.add_cost(p, producer_on_a ? ns : 0, producer_on_a ? 0 : ns);
      return;
    }
    if (free_readers_.empty()) return;
    if (free_readers_.size() == 1) {
      const uint32_t reader = variable(free_readers_[0]);
      flow_.add_arc(p, reader, producer_on_a ? ns : 0, producer_on_a ? 0 : ns);
      return;
    }
    const uint32_t any = flow_.add_node();
    flow_.add_arc(p, any, producer_on_a ? ns : 0, producer_on_a ? 0 : ns);
    connect_readers(any, /*read_on_a=*/!producer_on_a);
  }

  // A copy to one of the devices from a third or fixed one, if anybody reads it there.
  void add_copy_from_fixed(int64_t ns, bool to_a) {
    if (ns == 0 || free_readers_.empty()) return;
    const uint32_t any = free_readers_.size() == 1 ? variable(free_readers_[0]) : flow_.add_node();
    flow_.add_cost(any, to_a ? ns : 0, to_a ? 0 : ns);
    if (free_readers_.size() > 1) connect_readers(any, to_a);
  }

  // Puts the node `any` on the side of device a (or b) as soon as one of the readers is there.
  void connect_readers(uint32_t any, bool read_on_a) {
    for (const NodeId reader : free_readers_)
      flow_.add_arc(variable(reader), any, read_on_a ? FlowNetwork::kUnlimited : 0,
                    read_on_a ? 0 : FlowNetwork::kUnlimited);
  }

  Communication& communication_;
  const Graph& graph_;
  const Choices& choices_;
  std::vector<uint32_t>& devices_;
  int64_t& work_;
  uint32_t a_ = 0, b_ = 0;
  bool changed_ = false;
  bool closed_ = false;  // the part takes in no more nodes
  std::vector<Seed> seeds_;
  FlowNetwork flow_;
  uint32_t part_ = 0;                   // the part of the graph that is being solved
  uint32_t first_part_ = 0;             // of this pair of devices
  std::vector<uint32_t> node_part_;     // by node: the last part that has it as a variable
  std::vector<uint32_t> storage_part_;  // by storage: the last part that has reached it
  std::vector<uint32_t> flow_node_;     // by node
  std::vector<NodeId> nodes_;           // of the part that is being solved
  std::vector<StorageId> storages_;     // of the same
  std::vector<NodeId> free_readers_;    // of the storage that is being added
  std::vector<uint32_t> elsewhere_;
};

}  // namespace

Choices::Choices(const PlacementInput& input, const std::vector<Placement>& greedy, bool nodes_cost)
    : capability_(input.capability), start_(greedy.size()), limit_(greedy.size(), 0) {
  const Graph& graph = input.graph;
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    start_[node] = greedy[node].device;
    const Cause cause = greedy[node].cause;
    if (cause == Cause::pin || cause == Cause::location || cause == Cause::weight || cause == Cause::offload) continue;
    const auto outputs = graph.node_outputs(node);
    if (std::ranges::any_of(outputs, [&](TensorId output) {
          return output != kNone && (graph.storage(graph.storage_of(output)).flags & BP_TENSOR_STATE) != 0;
        }))
      continue;  // where it writes is where others find it
    limit_[node] = nodes_cost || !is_heavy(graph, node) ? capability_.device_count() : start_[node] + 1;
    free_count_ += limit_[node] != 0;
  }
}

void improve_by_cuts(Communication& communication, const Choices& choices, std::vector<uint32_t>& devices,
                     int64_t& work) {
  Cutter(communication, choices, devices, work).run();
}

}  // namespace backplane
