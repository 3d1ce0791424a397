// Graphs and device sets on which placements are compared, after research on ggml's scheduler: transformers over
// several devices, interleaved towers, random graphs. Every op is one that simulated devices have kernels for.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/placement/placement.hpp"
#include "scheduler/plan/splitter.hpp"

namespace backplane::testing {

// A graph, where its weights are, and what each device can run. The last device is the host.
struct PlacementCase {
  std::string name;
  std::shared_ptr<const Graph> graph;
  uint32_t device_count;
  PlanOptions options;
  std::vector<Op> refused_above_host;  // by every device but the last

  // Devices with memories of their own that run all but `refused_above_host`.
  Capability capability() const;
  // By storage, as PlacementInput::located.
  std::vector<uint32_t> located() const;
};

// A placement with the splits and copies that it leads to.
struct PlacedCase {
  PlacementResult placement;
  SplitResult cut;
  int64_t ns = 0;  // of splits and copies, as mode mincomm models them
};

// Places one case in several modes.
class CasePlacer {
 public:
  explicit CasePlacer(PlacementCase placement_case);

  PlacedCase place(PlacementMode mode);
  // Only the placement, which is what benchmarks time.
  PlacementResult place_only(PlacementMode mode);
  const PlacementCase& placement_case() const { return case_; }
  const Capability& capability() const { return capability_; }
  const std::vector<uint32_t>& located() const { return located_; }

 private:
  PlacementCase case_;
  Capability capability_;
  std::vector<uint32_t> located_;
  std::vector<Device*> devices_;  // null: nobody asks them anything
};

// A decoder of `layers` layers over 64 tokens of width 1024, f32: 256 KiB of activations between layers, a mask of
// 16 KiB, positions of 256 bytes, scores of 4 heads of 64 KiB in all.
struct TransformerShape {
  uint32_t layers = 32;
  uint32_t device_count = 2;
  std::vector<uint32_t> attention_device;  // by layer; also of its cache
  std::vector<uint32_t> ffn_device;        // by layer
  uint32_t head_device = 0;
  uint32_t bias_device = kNone;  // of the biases of the queries; kNone = no biases
};
PlacementCase make_transformer(std::string name, const TransformerShape& shape);

// `towers` stacks of 32 layers of 16 KiB over one input, tower t on device t modulo `device_count` (the host comes
// after these), joined at the end. Their layers take turns in the list; with a seed, in a random order.
PlacementCase make_towers(uint32_t towers, uint32_t device_count, uint64_t order_seed = 0);

struct RandomShape {
  uint64_t seed = 1;
  uint64_t order_seed = 0;  // the same edges in another list order; 0 = as generated
  uint32_t node_count = 1000;
  uint32_t device_count = 2;    // the host among them
  uint32_t fixed_percent = 30;  // of the nodes: they read a weight with a location
  uint32_t size_count = 6;      // of different sizes of tensors: 1 KiB, 4 KiB, 16 KiB ...
};
PlacementCase make_random_case(const RandomShape& shape);

// All transformers and towers of the table, then random graphs of 1000 nodes on 1 to 4 devices.
std::vector<PlacementCase> placement_family();

}  // namespace backplane::testing
