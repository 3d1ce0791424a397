// Kernel: one node of a graph, prepared once and run many times on tensors of fixed shapes.
//
// `prepare_kernel` is the single place that decides what this plugin can run: query_nodes asks it and drops the
// result, compile keeps it. So a YES cannot be a lie about support.
//
// A kernel runs as a gang: `run` is called by every worker at the same time, once per phase, with a barrier between
// phases (and between nodes). A kernel splits its work by worker and workers; it must be right for any number of
// workers, allocates nothing, throws nothing, and reads only what `prepare` stored and RunArgs gives.
// Thread safety: run is const; one kernel may not run twice at once (its scratch is shared by its workers).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backplane/sdk/graph_view.hpp"

namespace backplane_cpu {

using backplane::sdk::NodeView;
using backplane::sdk::TensorView;

struct RunArgs {
  std::byte* const* inputs;         // address of element [0, 0, ...] of each input; null = absent
  std::byte* const* outputs;        // likewise; null = not wanted
  std::byte* scratch;               // scratch_bytes(workers) bytes, 64-byte aligned
  std::atomic<const char*>* error;  // a kernel stores a static text here for bad data (an index out of range)
  uint32_t phase;
  uint32_t worker;
  uint32_t workers;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual uint32_t phases() const { return 1; }
  virtual size_t scratch_bytes(uint32_t /*workers*/) const { return 0; }
  // How many workers are worth waking for this node; the others skip it.
  virtual uint32_t max_workers() const { return UINT32_MAX; }
  virtual void run(const RunArgs& args) const noexcept = 0;
};

// A kernel, or why there is none.
struct Prepared {
  std::unique_ptr<Kernel> kernel;
  std::string refusal;      // empty if there is a kernel
  uint64_t alias_mask = 0;  // as bp_node_answer.alias_mask

  static Prepared refuse(std::string why) { return {nullptr, std::move(why), 0}; }
};

// A family's factory: looks at types, ranks, strides and attributes of one node.
using PrepareFn = Prepared (*)(const NodeView& node);

// The kernel table: the factory of an op, or null.
PrepareFn find_kernel(uint32_t op);
// Looks up and prepares. Never throws for a well-formed graph; a malformed attribute is a refusal.
Prepared prepare_kernel(const NodeView& node);

// The part of [0, total) that `worker` of `workers` does, in whole multiples of `grain`.
struct Range {
  int64_t begin, end;
};
inline Range share(int64_t total, int64_t grain, uint32_t worker, uint32_t workers) {
  const int64_t chunks = (total + grain - 1) / grain;
  const int64_t begin = chunks * worker / workers * grain;
  const int64_t end = chunks * (worker + 1) / workers * grain;
  return {std::min(begin, total), std::min(end, total)};
}

}  // namespace backplane_cpu
