// Capability: which device runs which node, and which device reads whose memory in place.
//
// Asked once per plan; placement and splitting read it. Thread safety: const.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/graph.hpp"
#include "backplane/runtime/device.hpp"
#include "backplane/scheduler/plan.hpp"

namespace backplane {

class Capability {
 public:
  enum class Access : uint8_t { none, read, write };

  // As told instead of asked, for tests and benchmarks: `answers` by device and node, `in_place` by reader and owner.
  Capability(std::vector<NodeAnswers> answers, std::vector<std::vector<Access>> in_place);
  // Asks every device that options do not exclude about every node; options.refusals count as NO. A device that does
  // not answer cannot be used. Errors: failed_precondition if there is none left.
  static Result<Capability> ask(const Graph& graph, const std::vector<Device*>& devices, const PlanOptions& options);

  uint32_t device_count() const { return static_cast<uint32_t>(answers_.size()); }
  // The last one that may be used: where graph inputs are.
  uint32_t last_device() const { return last_device_; }
  bool usable(uint32_t device) const { return unusable_[device].empty(); }
  // A device that is not usable answers NO.
  NodeAnswer answer(NodeId node, uint32_t device) const {
    return usable(device) ? answers_[device][node] : NodeAnswer{BP_VERDICT_NO, 0, unusable_[device]};
  }
  uint32_t verdict(NodeId node, uint32_t device) const {
    return answers_[device].empty() ? BP_VERDICT_NO : answers_[device].verdict(node);
  }
  // As bp_node_answer.alias_mask.
  uint64_t alias_mask(NodeId node, uint32_t device) const {
    return answers_[device].empty() ? 0 : answers_[device].alias_mask(node);
  }
  bool runs(NodeId node, uint32_t device) const { return verdict(node, device) != BP_VERDICT_NO; }
  // Whether kernels of `reader` can read the default memory of `owner` where it is. A device reads its own.
  bool reads_in_place(uint32_t reader, uint32_t owner) const { return in_place_[reader][owner] != Access::none; }
  // Whether they can write it too.
  bool writes_in_place(uint32_t writer, uint32_t owner) const { return in_place_[writer][owner] == Access::write; }
  // By device: the largest buffer for activations, in bytes, that it makes and that the devices of `splits` which read
  // it in place take; 0 = any.
  std::vector<uint64_t> buffer_limits(std::span<const Split> splits) const;
  // Whether what `from` has made must be read by the host on its way to `to`: the host does not see that memory, and
  // the devices do not reach each other.
  bool is_staged(uint32_t from, uint32_t to) const { return !staged_.empty() && staged_[from][to]; }
  // Whether copies to the device go on beside its splits: it works in the background, and others can wait for it.
  bool copies_beside(uint32_t device) const { return !copies_beside_.empty() && copies_beside_[device]; }
  // Whether the memory of the last device is the host's.
  bool last_is_host() const { return last_is_host_; }
  // The first device, in priority order, that runs the node; kNone if there is none.
  uint32_t first_runner(NodeId node) const;

 private:
  Capability() = default;
  void ask_for_access(const Graph& graph, const std::vector<Device*>& devices);

  uint32_t last_device_ = 0;
  bool last_is_host_ = false;
  std::vector<NodeAnswers> answers_;           // by device; empty if it is not usable
  std::vector<std::string> unusable_;          // by device: why; empty = it is usable
  std::vector<std::vector<Access>> in_place_;  // by reader, owner
  std::vector<std::vector<bool>> staged_;      // by source, target; none = nothing is
  std::vector<bool> copies_beside_;            // by device; none = no copies do
  // By device: the largest buffer, in bytes, that it makes, and that it takes of others; 0 = any.
  std::vector<uint64_t> buffer_limits_, import_limits_;
};

}  // namespace backplane
