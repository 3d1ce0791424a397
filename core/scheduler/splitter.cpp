#include "splitter.hpp"

#include <map>
#include <utility>

namespace backplane {
namespace {

class Splitter {
 public:
  Splitter(const Graph& graph, const Capability& capability, const std::vector<Placement>& placements)
      : graph_(graph), capability_(capability), placements_(placements), version_(graph.storage_count(), 0) {
    result_.home.assign(graph.storage_count(), kNone);
  }

  SplitResult run() {
    find_homes();
    for (NodeId node = 0; node < graph_.node_count(); ++node) {
      const uint32_t device = placements_[node].device;
      if (result_.splits.empty() || result_.splits.back().device != device) result_.splits.push_back({device, {}, {}});
      for (const TensorId input : graph_.node_inputs(node))
        if (input != kNone) bring(graph_.storage_of(input), device);
      result_.splits.back().nodes.push_back(node);
      for (const TensorId output : graph_.node_outputs(node))
        if (output != kNone) ++version_[graph_.storage_of(output)];
    }
    return std::move(result_);
  }

 private:
  // Written storages live where they are written, what the host writes lives on the last device.
  void find_homes() {
    for (NodeId node = graph_.node_count(); node-- > 0;)
      for (const TensorId output : graph_.node_outputs(node))
        if (output != kNone) result_.home[graph_.storage_of(output)] = placements_[node].device;
    for (const Graph::Port& port : graph_.inputs()) {
      uint32_t& home = result_.home[graph_.storage_of(port.tensor)];
      if (home == kNone) home = capability_.last_device();
    }
    for (StorageId storage = 0; storage < graph_.storage_count(); ++storage)
      if (result_.home[storage] == kNone && graph_.constant(storage).is_null())
        result_.home[storage] = capability_.last_device();  // a state that is only read
  }

  // A storage is written only on its home device, so an outdated copy cannot be read by the split that is open now.
  void bring(StorageId storage, uint32_t device) {
    const uint32_t home = result_.home[storage];
    if (home == kNone || capability_.reads_in_place(device, home)) return;
    const auto [copied, fresh] = copied_.try_emplace({storage, device}, version_[storage]);
    if (!fresh && copied->second == version_[storage]) return;
    copied->second = version_[storage];
    Split& split = result_.splits.back();
    split.copies.push_back(static_cast<uint32_t>(result_.copies.size()));
    result_.copies.push_back(
        {storage, home, device, graph_.storage(storage).bytes, static_cast<uint32_t>(result_.splits.size() - 1)});
  }

  const Graph& graph_;
  const Capability& capability_;
  const std::vector<Placement>& placements_;
  std::vector<uint32_t> version_;                              // writes so far, by storage
  std::map<std::pair<StorageId, uint32_t>, uint32_t> copied_;  // (storage, device) -> version copied
  SplitResult result_;
};

}  // namespace

SplitResult split_graph(const Graph& graph, const Capability& capability, const std::vector<Placement>& placements) {
  return Splitter(graph, capability, placements).run();
}

}  // namespace backplane
