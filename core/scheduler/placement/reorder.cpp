#include "scheduler/placement/reorder.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

namespace backplane {
namespace {

// The peak of live bytes may grow by a twentieth.
constexpr uint64_t kPeakShare = 20;
// Larger graphs are not tried from every device on.
constexpr uint32_t kFewNodes = 4096;

enum class Direction { forwards, backwards };

// Makes one order. Backwards, node n-1-i takes the part of node i, and what comes after that of what comes before.
class Lister {
 public:
  Lister(const Dependencies& dependencies, std::span<const uint32_t> devices, uint32_t device_count, uint32_t window,
         Direction direction)
      : dependencies_(dependencies),
        devices_(devices),
        count_(static_cast<uint32_t>(devices.size())),
        window_(window),
        backwards_(direction == Direction::backwards),
        missing_(count_),
        done_(count_, false),
        ready_(device_count) {
    for (uint32_t place = 0; place < count_; ++place) {
      const NodeId node = at(place);
      const auto needs = backwards_ ? dependencies_.after(node) : dependencies_.before(node);
      missing_[place] = static_cast<uint32_t>(needs.size());
      if (missing_[place] == 0) add_ready(place);
    }
  }

  // Devices that have a node which needs nothing.
  std::vector<uint32_t> starts() const {
    std::vector<uint32_t> starts;
    for (uint32_t device = 0; device < ready_.size(); ++device)
      if (!ready_[device].empty()) starts.push_back(device);
    return starts;
  }

  // From a device that has a ready node, or from that of the first one.
  std::vector<NodeId> list(uint32_t device = kNone) {
    std::vector<NodeId> order(count_);
    for (uint32_t i = 0; i < count_; ++i) {
      while (done_[first_open_]) ++first_open_;
      if (device == kNone || ready_[device].empty() || ready_[device].front() - first_open_ >= window_)
        device = devices_[at(first_open_)];
      const uint32_t place = take_ready(device);
      order[backwards_ ? count_ - 1 - i : i] = at(place);
      finish(place);
    }
    return order;
  }

 private:
  NodeId at(uint32_t place) const { return backwards_ ? count_ - 1 - place : place; }

  void add_ready(uint32_t place) {
    std::vector<uint32_t>& heap = ready_[devices_[at(place)]];
    heap.push_back(place);
    std::ranges::push_heap(heap, std::greater());
  }

  uint32_t take_ready(uint32_t device) {
    std::vector<uint32_t>& heap = ready_[device];
    std::ranges::pop_heap(heap, std::greater());
    const uint32_t place = heap.back();
    heap.pop_back();
    return place;
  }

  void finish(uint32_t place) {
    done_[place] = true;
    for (const NodeId node : backwards_ ? dependencies_.before(at(place)) : dependencies_.after(at(place))) {
      const uint32_t other = at(node);
      if (--missing_[other] == 0) add_ready(other);
    }
  }

  const Dependencies& dependencies_;
  const std::span<const uint32_t> devices_;
  const uint32_t count_;
  const uint32_t window_;
  const bool backwards_;
  std::vector<uint32_t> missing_;             // by place: what must run before and has not
  std::vector<bool> done_;                    // by place
  std::vector<std::vector<uint32_t>> ready_;  // by device: places, a heap
  uint32_t first_open_ = 0;                   // always ready: all that it needs stands before it
};

class Reorderer {
 public:
  Reorderer(const Graph& graph, const Dependencies& dependencies, std::span<const uint32_t> devices,
            uint32_t device_count)
      : graph_(graph), dependencies_(dependencies), devices_(devices), device_count_(device_count) {
    best_.resize(devices.size());
    std::iota(best_.begin(), best_.end(), 0u);
    best_runs_ = count_runs(best_, devices_);
    least_runs_ = least_runs(graph, devices, device_count);
  }

  std::vector<NodeId> run(uint32_t window) {
    const uint32_t before = best_runs_;
    if (window == 0 || best_runs_ <= least_runs_) return std::move(best_);
    try_all(UINT32_MAX);
    if (best_runs_ == before && too_much_memory_) try_all(window);
    return std::move(best_);
  }

 private:
  void try_all(uint32_t window) {
    for (const Direction direction : {Direction::forwards, Direction::backwards}) {
      if (best_runs_ <= least_runs_) return;
      const Lister start(dependencies_, devices_, device_count_, window, direction);
      consider(Lister(start).list());
      if (devices_.size() > kFewNodes) continue;
      for (const uint32_t device : start.starts())
        if (best_runs_ > least_runs_) consider(Lister(start).list(device));
    }
  }

  void consider(std::vector<NodeId> order) {
    const uint32_t runs = count_runs(order, devices_);
    if (runs >= best_runs_) return;
    if (!peak_) {
      std::vector<NodeId> list(order.size());
      std::iota(list.begin(), list.end(), 0u);
      peak_ = peak_bytes(graph_, list);
    }
    const uint64_t peak = peak_bytes(graph_, order);
    if (peak > *peak_ && peak - *peak_ > *peak_ / kPeakShare) {
      too_much_memory_ = true;
      return;
    }
    best_ = std::move(order);
    best_runs_ = runs;
  }

  const Graph& graph_;
  const Dependencies& dependencies_;
  const std::span<const uint32_t> devices_;
  const uint32_t device_count_;
  std::vector<NodeId> best_;
  uint32_t best_runs_ = 0;
  uint32_t least_runs_ = 0;
  std::optional<uint64_t> peak_;  // of the list
  bool too_much_memory_ = false;  // an order was better, but for its peak
};

}  // namespace

uint32_t count_runs(std::span<const NodeId> order, std::span<const uint32_t> devices) {
  uint32_t runs = order.empty() ? 0 : 1;
  for (size_t i = 1; i < order.size(); ++i) runs += devices[order[i]] != devices[order[i - 1]];
  return runs;
}

uint32_t least_runs(const Graph& graph, std::span<const uint32_t> devices, uint32_t device_count) {
  std::vector<bool> used(device_count);
  std::vector<uint32_t> runs(devices.size());  // by node: on the longest way to it
  uint32_t longest = 0;
  for (NodeId node = 0; node < devices.size(); ++node) {
    used[devices[node]] = true;
    runs[node] = 1;
    for (const TensorId input : graph.node_inputs(node)) {
      const NodeId writer = input == kNone ? kNone : graph.storage(graph.storage_of(input)).writer;
      if (writer != kNone) runs[node] = std::max(runs[node], runs[writer] + (devices[writer] != devices[node]));
    }
    longest = std::max(longest, runs[node]);
  }
  return std::max(longest, static_cast<uint32_t>(std::ranges::count(used, true)));
}

uint64_t peak_bytes(const Graph& graph, std::span<const NodeId> order) {
  std::vector<uint32_t> last(graph.storage_count(), kNone);
  for (uint32_t at = 0; at < order.size(); ++at)
    for (const auto tensors : {graph.node_inputs(order[at]), graph.node_outputs(order[at])})
      for (const TensorId tensor : tensors)
        if (tensor != kNone) last[graph.storage_of(tensor)] = at;
  std::vector<uint64_t> ends(order.size(), 0);  // by place: the bytes that are not needed after it
  for (StorageId storage = 0; storage < graph.storage_count(); ++storage) {
    const Storage& record = graph.storage(storage);
    const bool kept = (record.flags & (BP_TENSOR_OUTPUT | BP_TENSOR_STATE)) != 0 || record.writer == kNone;
    if (!kept && last[storage] != kNone) ends[last[storage]] += record.bytes;
  }
  uint64_t live = 0, peak = 0;
  for (uint32_t at = 0; at < order.size(); ++at) {
    for (const TensorId output : graph.node_outputs(order[at]))
      if (output != kNone && (graph.storage(graph.storage_of(output)).flags & BP_TENSOR_STATE) == 0)
        live += graph.storage(graph.storage_of(output)).bytes;
    peak = std::max(peak, live);
    live -= ends[at];
  }
  return peak;
}

std::vector<NodeId> reorder(const Graph& graph, const Dependencies& dependencies, std::span<const uint32_t> devices,
                            uint32_t device_count, uint32_t window) {
  return Reorderer(graph, dependencies, devices, device_count).run(window);
}

}  // namespace backplane
