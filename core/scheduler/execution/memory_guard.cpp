#include "scheduler/execution/memory_guard.hpp"

#include <algorithm>
#include <tuple>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

bool is_poisoned(std::byte byte) { return byte == std::byte{MemoryGuard::kPoison}; }

// A tensor and the node that writes it.
std::string text_of(const Graph& graph, StorageId storage) {
  const NodeId writer = graph.storage(storage).writer;
  const std::string tensor = graph.tensor_text(graph.storage(storage).root);
  if (writer == kNone) return cat(tensor, ", which no node writes");
  const std::string_view name = graph.node_name(writer);
  return cat(tensor, ", written by node ", writer, " (", op_name(graph.op(writer)), ")",
             name.empty() ? "" : cat(" '", name, "'"));
}

}  // namespace

MemoryGuard::MemoryGuard(const Plan& plan, const BoundMemory& memory) : plan_(plan), memory_(memory) {
  std::vector<const Residence*> pooled;
  for (const Residence& residence : plan.residences)
    if (residence.pool != kNone) pooled.push_back(&residence);
  const auto place = [](const Residence* at) { return std::tuple(at->pool, at->chunk, at->offset); };
  std::ranges::stable_sort(pooled, {}, place);
  for (const Residence* residence : pooled) {
    const bool joined = !fenced_.empty() && fenced_.back().first->pool == residence->pool &&
                        fenced_.back().first->chunk == residence->chunk;
    if (joined)
      fenced_.back().last = residence;
    else
      fenced_.push_back({residence, residence});
  }
}

Status MemoryGuard::fill(PoolKind kind) {
  for (const Fenced& fenced : fenced_) {
    if (plan_.pools[fenced.first->pool].kind != kind) continue;
    SharedBuffer& buffer = *memory_.spot(*fenced.first, 0).buffer;
    BP_TRY(buffer.buffer.fill(0, buffer.buffer.bytes(), kPoison));
  }
  return {};
}

Status MemoryGuard::check() const {
  for (const auto& [first, last] : fenced_) {
    const uint64_t end = last->offset + plan_.graph->storage(last->storage).bytes;
    BP_TRY(check_zone(*first, 0, first->offset, "before its first one"));
    BP_TRY(check_zone(*last, end, plan_.pools[last->pool].chunk_bytes[last->chunk], "behind its last one"));
  }
  return {};
}

Status MemoryGuard::check_zone(const Residence& next_to, uint64_t begin, uint64_t end, std::string_view where) const {
  std::vector<std::byte> zone(end - begin);
  BP_TRY(memory_.spot(next_to, 0).buffer->read(begin, zone));
  const auto damage = std::ranges::find_if_not(zone, is_poisoned);
  if (damage == zone.end()) return {};
  const auto at = static_cast<uint64_t>(damage - zone.begin());
  return {Code::internal,
          cat("memory on ", plan_.device_names[next_to.device], " that is nobody's was written: byte ",
              begin == 0 ? zone.size() - at : at + 1, " ", where, " of ", text_of(*plan_.graph, next_to.storage)),
          "session.red-zone"};
}

}  // namespace backplane
