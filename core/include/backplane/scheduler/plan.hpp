// Plan: how a graph runs on a list of devices: which node where and why, the splits, the copies, the tasks, the memory.
//
// Immutable and separate from the graph, which is never touched. Device numbers index the list that the plan was made
// for. Thread safety: const, from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backplane/base/json.hpp"
#include "backplane/base/status.hpp"
#include "backplane/graph/graph.hpp"
#include "backplane/runtime/device.hpp"
#include "backplane/scheduler/device_costs.hpp"

namespace backplane {

// Why a node runs where it runs.
enum class Cause {
  pin,          // the user said so
  location,     // it writes a storage that is placed there, or that another node writes there
  weight,       // it reads a weight that is there, or that goes to the first device that runs its reader
  offload,      // it reads a weight of the last device, and this one prefers to run it all the same
  expand_down,  // continues the run of nodes before it
  expand_up,    // continues the run of nodes after it
  most_inputs,  // that device can read most of its input bytes
  upgrade,      // moved to a higher device that reads all of its inputs in place
  min_cut,      // moved there because fewer bytes and splits cross between devices
  cost,         // moved there because the measured costs of all devices are lower so
  fallback,     // the first device that can run it
};
std::string_view cause_name(Cause cause);

struct Placement {
  uint32_t device = kNone;
  Cause cause = Cause::fallback;
  uint32_t verdict = 0;  // the device's answer, BP_VERDICT_*
  // What decided: a TensorId for location, weight and offload; a NodeId for expand_*, min_cut and cost; or kNone.
  uint32_t because = kNone;
  uint32_t runner_up = kNone;  // modes mincomm and cost: the best other device for this node alone, the rest as it is
  int64_t saved_ns = 0;        // and what running it there would cost more, as modelled
};

// A part of one storage on its way to a device that cannot read it where it is, or back to its home.
// `rows` rows of `row_bytes` bytes, `pitch_bytes` apart, the first at `offset`; the same place on both sides.
struct PlannedCopy {
  StorageId storage;
  uint32_t from, to;  // devices
  uint64_t offset;
  uint64_t row_bytes;
  uint64_t rows;         // 1 = flat
  uint64_t pitch_bytes;  // ignored if rows is 1
  uint32_t split;        // the split that needs it first, or after which it is written back
  bool write_back;       // from a device that wrote a copy, to the storage's home
  // Only the rows that this tensor of indices names are copied, if it is not kNone: the experts that a run uses.
  TensorId indices = kNone;
  // One transfer with the copy before: both are small graph inputs, which lie in the same way on both devices.
  bool joined = false;

  // With indices the most that may be copied.
  uint64_t bytes() const { return row_bytes * rows; }
};

// The copies that are one transfer with copies[first], the first of them.
inline std::span<const PlannedCopy> transfer_at(std::span<const PlannedCopy> copies, size_t first) {
  size_t end = first + 1;
  while (end < copies.size() && copies[end].joined) ++end;
  return copies.subspan(first, end - first);
}

// A run of nodes on one device.
struct Split {
  uint32_t device;
  uint32_t first_node, node_count;  // Plan::order[first_node ...]
};

// One step of a run: a split, or a copy with those that are joined to it, which its target's device does. Tasks of one
// lane run one after another. A device has a lane, and if it works in the background one more for copies to it, which
// go on beside its splits.
struct Task {
  bool is_copy;
  uint32_t index;                         // into Plan::copies or Plan::splits
  uint32_t device;                        // that does it
  uint32_t lane;                          // the device's number; that plus the number of devices: its lane for copies
  uint32_t rank;                          // its number among the tasks of that lane
  uint32_t first_wait, wait_count;        // Plan::waits: tasks of other lanes that must be done before
  uint32_t first_carried, carried_count;  // Plan::carried_waits: the same, of the run before
};

// Where one storage (or the copy of one) lives on a device.
struct Residence {
  StorageId storage;
  uint32_t device;
  uint32_t pool;    // index into Plan::pools; kNone = outside the pools: a constant or a state
  uint32_t chunk;   // of the pool
  uint64_t offset;  // bytes from the chunk's start
  // The storage whose memory it takes over, on the same device, when a node writes it over an operand that is not used
  // any more; kNone = it has memory of its own.
  StorageId in_place_of = kNone;
  // The steps in which it needs this memory: nodes and copies, counted in the order of the tasks.
  uint32_t first_step = 0, last_step = 0;
};

enum class PoolKind {
  arena,  // activations, which share memory over time; its bytes mean nothing between runs
  ports,  // graph inputs and outputs; there is one for each run in flight
};

// Memory of one device and memory type.
struct Pool {
  uint32_t device;
  uint32_t memtype;
  PoolKind kind;
  std::vector<uint64_t> chunk_bytes;  // buffers to allocate; one unless the device limits their size
  uint64_t peak_bytes = 0;            // sum of the chunks
  uint64_t lower_bound_bytes = 0;     // the most that is alive at once: no plan can need less
  std::string_view method;            // of the memory planner, that found these places; static
  uint64_t comparisons = 0;           // the planner's work
};

enum class PlacementMode {
  greedy,   // what users of ggml's scheduler know
  mincomm,  // the same, then as few splits, copies and bytes as a min-cut finds; never more than greedy
  cost,     // mincomm with measured costs of devices and links
};
std::string_view mode_name(PlacementMode mode);

struct PlanOptions {
  PlacementMode mode = PlacementMode::mincomm;
  // Node name or number (as text) -> device number. Pins hold exactly or planning fails.
  std::vector<std::pair<std::string, uint32_t>> pins;
  // Name of a weight or state -> the device in whose memory it is; it pulls its readers and writers there.
  std::vector<std::pair<std::string, uint32_t>> locations;
  // Where all weights are that `locations` does not name; kNone = each on whatever devices read it.
  uint32_t weights_device = kNone;
  // A located weight of at most 64 KiB and at most an eighth of the activations beside it does not pull its reader: it
  // is put, once, on the device that reads it.
  bool soft_weights = true;
  // Lets a higher device that prefers a node take it although its weight is on the last device, if the weight is at
  // most `offload_ratio` times the bytes of the activations; 0 = never.
  uint64_t offload_ratio = UINT64_MAX;
  // Weights that are copied to a split anew for each run may take this many bytes at a time; more cut the split.
  uint64_t staging_bytes = uint64_t{256} << 20;
  // Nodes are moved within the list to join others of their device, as far as that takes no more than 1.05 times the
  // memory; where it would, they are only looked for among so many nodes after the first that has not run. 0 = nodes
  // stay in the order of the list.
  uint32_t reorder_window = 64;
  // Mode cost: by device, what calibrate() has found; empty = guesses by the types of the devices, and a Session
  // calibrates them first.
  std::vector<DeviceCosts> device_costs;
  // Gives every tensor memory of its own: to find out whether a fault is one of memory reuse.
  bool reuse_memory = true;
  // Gives every tensor a buffer of its own, with red zones before and behind it; SessionOptions::debug_memory needs
  // that.
  bool separate_memory = false;
  // Results may take over the memory of an operand, where the device's kernels allow that; not without reuse_memory,
  // nor with separate_memory.
  bool in_place = true;
  // The memory planner's work, in comparisons for each tensor: it goes on until the peak is the bound or these are
  // spent. 600 take about a microsecond; 20000 are worth it for a plan that is used for long.
  uint64_t memory_comparisons = 600;
  // Several runs may be in flight at once: fills in Plan::carried_waits.
  bool pipelined = false;
  // Splits end after these nodes, sorted.
  std::vector<NodeId> cuts;
  // Devices that are not to be used: lost ones, and those whose memory did not suffice.
  std::vector<uint32_t> excluded_devices;
  // (node, device) pairs that a device took in the query and then refused.
  std::vector<std::pair<NodeId, uint32_t>> refusals;

  bool operator==(const PlanOptions&) const = default;
};

// What a plan needs of one device, in bytes of buffers. Devices round up.
struct DeviceNeeds {
  uint64_t arena_bytes = 0;     // shared by all plans of a session, which need the most that any of them needs
  uint64_t ports_bytes = 0;     // for each run in flight
  uint64_t constant_bytes = 0;  // at most: those in memory that the device reads in place take none
  uint64_t state_bytes = 0;     // shared by all plans of a session
};

struct Plan {
  std::shared_ptr<const Graph> graph;
  std::vector<std::string> device_names;
  PlacementMode mode = PlacementMode::greedy;
  std::vector<Placement> placements;  // by node
  std::vector<NodeId> order;          // all nodes, as they are executed
  std::vector<Split> splits;          // consecutive parts of `order`
  std::vector<PlannedCopy> copies;    // by split
  std::vector<uint32_t> homes;        // by storage: the device that owns its memory; kNone = unused, or a constant that
                                      // each reader's device holds
  std::vector<Task> tasks;            // in an order that respects all waits
  std::vector<uint32_t> waits;        // task numbers
  std::vector<uint32_t> carried_waits;  // task numbers
  bool sequential = true;               // no two tasks of one run can overlap
  std::vector<Residence> residences;    // by storage, its home first
  std::vector<uint32_t> residence_at;   // by storage: its first residence; one more at the end
  std::vector<Pool> pools;
  uint64_t weight_bytes = 0;  // constants, over all devices that hold them
  uint64_t copy_bytes = 0;    // per run

  std::span<const NodeId> nodes(const Split& split) const {
    return {order.data() + split.first_node, split.node_count};
  }
  // What a task that copies carries.
  std::span<const PlannedCopy> transfer(const Task& task) const { return transfer_at(copies, task.index); }
  // The tensors of that, for messages.
  std::string transfer_text(const Task& task) const;
  // Where kernels of a device find a storage: its copy there if there is one, else its home; null if it has none.
  const Residence* residence(StorageId storage, uint32_t device) const;
  // By device, each memory counted once. To know what a graph needs without allocating anything: make_plan(...),
  // needs().
  std::vector<DeviceNeeds> needs() const;
  // Everything above as JSON; byte-stable for equal plans.
  Json to_json() const;
  // Why a node is where it is, in one sentence.
  std::string explain(NodeId node) const;
};

// Errors: invalid_argument for a pin or location of nothing; unimplemented naming every node that no device runs, with
// each device's reason; resource_exhausted for a tensor larger than a device's largest buffer.
Result<std::shared_ptr<const Plan>> make_plan(std::shared_ptr<const Graph> graph, const std::vector<Device*>& devices,
                                              const PlanOptions& options = {});

}  // namespace backplane
