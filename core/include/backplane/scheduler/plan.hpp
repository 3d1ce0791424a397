// Plan: how a graph runs on a list of devices: which node where and why, the splits, the copies, the memory.
//
// Immutable and separate from the graph, which is never touched. Device numbers index the list that the plan was made
// for. Thread safety: const, from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backplane/base/json.hpp"
#include "backplane/base/status.hpp"
#include "backplane/graph/graph.hpp"
#include "backplane/runtime/device.hpp"

namespace backplane {

// Why a node runs where it runs.
enum class Cause {
  pin,          // the user said so
  location,     // it writes a storage that another node writes there
  weight,       // it reads a weight, which is put on the first device that runs it
  expand_down,  // continues the run of nodes before it
  expand_up,    // continues the run of nodes after it
  most_inputs,  // that device can read most of its input bytes
  upgrade,      // moved to a higher device that reads all of its inputs in place
  fallback,     // the first device that can run it
};
std::string_view cause_name(Cause cause);

struct Placement {
  uint32_t device = kNone;
  Cause cause = Cause::fallback;
  uint32_t verdict = 0;  // the device's answer, BP_VERDICT_*
};

// One storage on its way to a device that cannot read it where it is.
struct PlannedCopy {
  StorageId storage;
  uint32_t from, to;  // devices
  uint64_t bytes;
  uint32_t before_split;  // the split that needs it first
};

struct Split {
  uint32_t device;
  std::vector<NodeId> nodes;     // in order
  std::vector<uint32_t> copies;  // indices into Plan::copies, to be done before it
};

// Where one storage (or the copy of one) lives on a device.
struct Residence {
  StorageId storage;
  uint32_t device;
  uint32_t pool;    // index into Plan::pools; kNone = the constant itself, placed outside the pools
  uint32_t chunk;   // of the pool
  uint64_t offset;  // bytes from the chunk's start
};

// Memory of one device and memory type that activations share over time.
struct Pool {
  uint32_t device;
  uint32_t memtype;
  std::vector<uint64_t> chunk_bytes;  // buffers to allocate; one unless the device limits their size
  uint64_t peak_bytes = 0;            // sum of the chunks
  uint64_t lower_bound_bytes = 0;     // the most that is alive at once: no plan can need less
};

struct Plan {
  std::shared_ptr<const Graph> graph;
  std::vector<std::string> device_names;
  std::vector<Placement> placements;  // by node
  std::vector<Split> splits;          // in order of execution
  std::vector<PlannedCopy> copies;
  std::vector<uint32_t> homes;  // by storage: the device that owns its memory; kNone = a constant, or unused
  std::vector<Residence> residences;
  std::vector<Pool> pools;
  uint64_t weight_bytes = 0;  // constants, over all devices that hold them
  uint64_t copy_bytes = 0;    // per run

  // Everything above as JSON; byte-stable for equal plans.
  Json to_json() const;
};

enum class PlacementMode { greedy };

struct PlanOptions {
  PlacementMode mode = PlacementMode::greedy;
  // Node name or number (as text) -> device number. Pins hold exactly or planning fails.
  std::vector<std::pair<std::string, uint32_t>> pins;
  // (node, device) pairs that a device took in the query and then refused.
  std::vector<std::pair<NodeId, uint32_t>> refusals;
};

// Errors: invalid_argument for a pin to nothing; unimplemented naming every node that no device runs, with each
// device's reason; resource_exhausted for a tensor larger than a device's largest buffer.
Result<std::shared_ptr<const Plan>> make_plan(std::shared_ptr<const Graph> graph, const std::vector<Device*>& devices,
                                              const PlanOptions& options = {});

}  // namespace backplane
