#include "scheduler/plan/splitter.hpp"

#include <algorithm>
#include <numeric>

#include "scheduler/plan/region.hpp"
#include "scheduler/plan/row_indices.hpp"

namespace backplane {
namespace {

// Of one storage, to one device; more are one.
constexpr size_t kMostRegions = 16;

class Splitter {
 public:
  explicit Splitter(const SplitInput& input) : input_(input), graph_(input.graph), version_(graph_.storage_count(), 0) {
    result_.home = input.located;
    result_.instances = InstanceMap(graph_.storage_count());
  }

  SplitResult run() {
    find_homes();
    find_shared();
    for (uint32_t i = 0; i < input_.order.size(); ++i) {
      const NodeId node = input_.order[i];
      const uint32_t device = input_.placements[node].device;
      if (begins_split(node, device)) begin_split(device, i);
      for (const TensorId tensor : graph_.node_inputs(node))
        if (tensor != kNone) read(tensor, device, row_indices(graph_, node, tensor));
      for (const TensorId tensor : graph_.node_outputs(node))
        if (tensor != kNone) write(tensor, device);
      ++result_.splits.back().node_count;
      cut_ = std::ranges::binary_search(input_.options.cuts, node);
    }
    end_split();
    for (size_t i = 0; i < regions_.size(); ++i) set_region(result_.copies[i], regions_[i]);
    std::erase_if(result_.copies, [](const PlannedCopy& copy) { return copy.storage == kNone; });
    for (PlannedCopy& copy : result_.copies)
      if (copy.indices != kNone) set_rows(copy);
    return std::move(result_);
  }

 private:
  // What a copy on a device holds.
  struct Away {
    uint32_t version = kNone;
    std::vector<uint32_t> copies;  // that brought it; none = the device wrote it itself
    Region written;                // by the open split
  };

  // Written storages live where they are first written, what the host writes lives on the last device.
  void find_homes() {
    for (size_t i = input_.order.size(); i-- > 0;)
      for (const TensorId output : graph_.node_outputs(input_.order[i]))
        if (output != kNone) set_home(graph_.storage_of(output), input_.placements[input_.order[i]].device);
    for (const Graph::Port& port : graph_.inputs())
      if (home(port.tensor) == kNone) result_.home[graph_.storage_of(port.tensor)] = input_.capability.last_device();
    for (StorageId storage = 0; storage < graph_.storage_count(); ++storage)
      if (result_.home[storage] == kNone && !graph_.is_constant(storage))
        result_.home[storage] = input_.capability.last_device();  // a state that is only read
    for (StorageId storage = 0; storage < graph_.storage_count() && !has_streams_; ++storage)
      has_streams_ = result_.home[storage] != kNone && graph_.is_constant(storage);
    if (has_streams_) last_split_.assign(graph_.storage_count(), 0);
    // A device that must write to a copy also reads from it, even where it could read the home.
    for (const NodeId node : input_.order)
      for (const TensorId output : graph_.node_outputs(node))
        if (output != kNone && !writes_home(graph_.storage_of(output), input_.placements[node].device))
          result_.instances.find_or_add(graph_.storage_of(output), input_.placements[node].device);
  }
  // What several devices want that it is staged to is read once, into the memory of the last one, if that is the
  // host's.
  void find_shared() {
    if (!input_.capability.last_is_host() || input_.capability.device_count() < 3) return;
    std::vector<uint32_t> reader(graph_.storage_count(), kNone);
    shared_.assign(graph_.storage_count(), false);
    for (const NodeId node : input_.order)
      for (const TensorId input : graph_.node_inputs(node)) {
        if (input == kNone || graph_.is_constant(graph_.storage_of(input))) continue;
        const uint32_t device = input_.placements[node].device, storage = graph_.storage_of(input);
        if (!input_.capability.is_staged(home(input), device) || device == home(input)) continue;
        shared_[storage] = shared_[storage] || (reader[storage] != kNone && reader[storage] != device);
        reader[storage] = device;
      }
  }

  bool is_shared(StorageId storage) const { return !shared_.empty() && shared_[storage]; }

  // From which device a region of a storage is brought to another.
  uint32_t source_for(StorageId storage, uint32_t device, const Region& region) {
    const uint32_t home = result_.home[storage], last = input_.capability.last_device();
    if (!is_shared(storage) || device == last) return home;
    bring(storage, last, region);
    return last;
  }

  bool writes_home(StorageId storage, uint32_t device) const {
    return device == result_.home[storage] || input_.capability.writes_in_place(device, result_.home[storage]);
  }
  void set_home(StorageId storage, uint32_t device) {
    if (input_.located[storage] == kNone) result_.home[storage] = device;
  }
  uint32_t home(TensorId tensor) const { return result_.home[graph_.storage_of(tensor)]; }

  bool begins_split(NodeId node, uint32_t device) const {
    if (result_.splits.empty() || cut_ || result_.splits.back().device != device) return true;
    if (!has_streams_) return false;
    uint64_t more = 0;
    for (const TensorId tensor : graph_.node_inputs(node)) {
      if (tensor == kNone || !streams(graph_.storage_of(tensor), device) ||
          result_.instances.find(graph_.storage_of(tensor), device) != kNone)
        continue;
      more += graph_.storage(graph_.storage_of(tensor)).bytes;
      // Which rows are wanted must be known before the split begins.
      const TensorId indices = row_indices(graph_, node, tensor);
      if (indices != kNone && is_written_here(graph_.storage_of(indices))) return true;
    }
    return streamed_bytes_ != 0 && more != 0 &&
           more > input_.options.staging_bytes - std::min(streamed_bytes_, input_.options.staging_bytes);
  }

  // By the open split.
  bool is_written_here(StorageId storage) const { return last_split_[storage] == result_.splits.size(); }

  // A constant that is copied anew in each run.
  bool streams(StorageId storage, uint32_t device) const {
    const uint32_t home = result_.home[storage];
    return home != kNone && graph_.is_constant(storage) && !is_replicated(storage) &&
           !input_.capability.reads_in_place(device, home);
  }
  bool is_replicated(StorageId storage) const {
    return input_.options.soft_weights && graph_.storage(storage).bytes <= kReplicatedBytes;
  }

  void begin_split(uint32_t device, uint32_t first) {
    end_split();
    result_.splits.push_back({device, first, 0});
    streamed_bytes_ = 0;
  }

  void end_split() {
    for (const uint32_t instance : dirty_) {
      const StorageId storage = result_.instances.storage(instance);
      const uint32_t device = result_.instances.device(instance);
      add_copy(storage, device, result_.home[storage], /*write_back=*/true, away(instance).written);
      away(instance).written = {};
    }
    dirty_.clear();
  }

  void read(TensorId tensor, uint32_t device, TensorId indices) {
    const StorageId storage = graph_.storage_of(tensor);
    const uint32_t home = result_.home[storage];
    if (home == kNone || (home != device && graph_.is_constant(storage) && is_replicated(storage) &&
                          !input_.capability.reads_in_place(device, home))) {
      result_.instances.find_or_add(storage, device);
    } else if (device != home &&
               (!input_.capability.reads_in_place(device, home) || result_.instances.find(storage, device) != kNone)) {
      bring(storage, device, region_of(graph_, tensor), indices);
    }
  }

  // A device writes either a storage's home or its own copy, so an outdated copy cannot be read by the open split.
  void bring(StorageId storage, uint32_t device, const Region& region, TensorId indices = kNone) {
    const uint32_t instance = result_.instances.find_or_add(storage, device);
    if (region.extent() == 0) return;
    if (away(instance).version != version_[storage]) {
      const uint32_t source = source_for(storage, device, region);
      Away& copied = away(instance);
      copied.version = version_[storage];
      copied.copies = {add_copy(storage, source, device, /*write_back=*/false, region)};
      if (!graph_.is_constant(storage)) return;
      streamed_bytes_ += graph_.storage(storage).bytes;
      result_.copies[copied.copies[0]].indices = indices;
    } else if (std::vector<uint32_t>& copies = away(instance).copies; !copies.empty()) {
      const uint32_t changed = add_region(copies, region);
      if (result_.copies[copies[0]].indices != indices) result_.copies[copies[0]].indices = kNone;
      source_for(storage, device, regions_[changed]);
    }
  }

  // As one with all copies that are near enough, by the first of them; else by one more copy. Returns that.
  uint32_t add_region(std::vector<uint32_t>& copies, Region region) {
    const PlannedCopy like = result_.copies[copies[0]];
    const bool one_only = copies.size() == kMostRegions || graph_.is_constant(like.storage) ||
                          is_shared(like.storage);  // the host's copy has all of each other's
    uint32_t into = kNone;
    const auto takes = [&](uint32_t copy) {
      if (!one_only && !worth_uniting(regions_[copy], region)) return false;
      region = united(regions_[copy], region);
      if (into != kNone) result_.copies[std::max(into, copy)].storage = kNone;  // to be taken out
      into = std::min(into, copy);
      return true;
    };
    while (std::erase_if(copies, takes) != 0) {  // what has grown may be near to others
    }
    if (into == kNone)
      into = add_copy(like.storage, like.from, like.to, /*write_back=*/false, region);
    else
      regions_[into] = region;
    copies.push_back(into);
    return into;
  }

  void write(TensorId tensor, uint32_t device) {
    const StorageId storage = graph_.storage_of(tensor);
    const Storage& record = graph_.storage(storage);
    if (has_streams_) last_split_[storage] = static_cast<uint32_t>(result_.splits.size());
    if (writes_home(storage, device)) {
      ++version_[storage];
      return;
    }
    // What the write leaves alone must be there before it.
    if (tensor != record.root) bring(storage, device, {0, record.bytes, 1, record.bytes});
    const uint32_t instance = result_.instances.find(storage, device);
    Away& copy = away(instance);
    copy.version = ++version_[storage];
    copy.copies.clear();
    if (record.bytes == 0) return;
    if (copy.written.extent() == 0) dirty_.push_back(instance);
    copy.written = united(copy.written, region_of(graph_, tensor));
  }

  // REQUIRES: not a home. References hold until the next copy of another storage is asked for.
  Away& away(uint32_t instance) {
    const uint32_t number = instance - graph_.storage_count();
    if (away_.size() <= number) away_.resize(size_t{number} + 1);
    return away_[number];
  }

  uint32_t add_copy(StorageId storage, uint32_t from, uint32_t to, bool write_back, const Region& region) {
    const auto split = static_cast<uint32_t>(result_.splits.size() - 1);
    result_.copies.push_back({storage, from, to, 0, 0, 1, 0, split, write_back});
    regions_.push_back(region);
    return static_cast<uint32_t>(regions_.size() - 1);
  }

  static void set_region(PlannedCopy& copy, const Region& region) {
    copy.offset = region.offset;
    copy.row_bytes = region.row_bytes;
    copy.rows = region.rows;
    copy.pitch_bytes = region.pitch_bytes;
  }

  // Rows of a dense tensor, the whole of its storage.
  void set_rows(PlannedCopy& copy) const {
    copy.rows = static_cast<uint64_t>(graph_.shape(graph_.storage(copy.storage).root)[0]);
    copy.offset = 0;
    copy.row_bytes = copy.pitch_bytes = graph_.storage(copy.storage).bytes / copy.rows;
  }

  const SplitInput& input_;
  const Graph& graph_;
  bool has_streams_ = false;          // there are constants with a home
  std::vector<uint32_t> last_split_;  // by storage, if so: the number of splits when it was last written
  std::vector<bool> shared_;          // by storage, if the last device is the host; see find_shared
  std::vector<uint32_t> version_;     // writes so far, by storage
  std::vector<Away> away_;            // by instance, homes left out; grows as they are asked for
  std::vector<uint32_t> dirty_;       // instances with such writes
  std::vector<Region> regions_;       // by copy
  uint64_t streamed_bytes_ = 0;       // by the open split
  bool cut_ = false;                  // the open split ends here
  SplitResult result_;
};

}  // namespace

uint64_t SplitResult::copy_bytes() const {
  return std::accumulate(copies.begin(), copies.end(), uint64_t{0},
                         [](uint64_t sum, const PlannedCopy& copy) { return sum + copy.bytes(); });
}

SplitResult split_graph(const SplitInput& input) { return Splitter(input).run(); }

}  // namespace backplane
