// Capability: which device runs which node, and which device reads whose memory in place.
//
// Asked once per plan; placement and splitting read it. Thread safety: const.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/graph.hpp"
#include "backplane/runtime/device.hpp"

namespace backplane {

class Capability {
 public:
  // Asks every device about every node. `refusals` are (node, device) pairs that count as NO.
  static Result<Capability> ask(const Graph& graph, const std::vector<Device*>& devices,
                                std::span<const std::pair<NodeId, uint32_t>> refusals);

  uint32_t device_count() const { return static_cast<uint32_t>(answers_.size()); }
  uint32_t last_device() const { return device_count() - 1; }
  const NodeAnswer& answer(NodeId node, uint32_t device) const { return answers_[device][node]; }
  bool runs(NodeId node, uint32_t device) const { return answers_[device][node].runs(); }
  // Whether kernels of `reader` can read the default memory of `owner` where it is. A device reads its own.
  bool reads_in_place(uint32_t reader, uint32_t owner) const { return in_place_[reader][owner] != Access::none; }
  // Whether they can write it too.
  bool writes_in_place(uint32_t writer, uint32_t owner) const { return in_place_[writer][owner] == Access::write; }
  // The first device, in priority order, that runs the node; kNone if there is none.
  uint32_t first_runner(NodeId node) const;

 private:
  enum class Access : uint8_t { none, read, write };

  std::vector<std::vector<NodeAnswer>> answers_;  // by device, node
  std::vector<std::vector<Access>> in_place_;     // by reader, owner
};

}  // namespace backplane
