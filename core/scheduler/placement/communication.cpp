#include "scheduler/placement/communication.hpp"

#include "scheduler/placement/writers.hpp"
#include "scheduler/plan/region.hpp"
#include "scheduler/plan/splitter.hpp"

namespace backplane {

Communication::Communication(const PlacementInput& input, const CostModel& costs)
    : graph_(input.graph),
      capability_(input.capability),
      costs_(costs),
      origin_(input.located),
      writers_(first_writers(input.graph)),
      first_(input.graph.storage_count() + 1, 0),
      bytes_(input.graph.storage_count(), UINT64_MAX),
      counted_(input.capability.device_count(), 0) {
  for (StorageId storage = 0; storage < graph_.storage_count(); ++storage) {
    const Storage& record = graph_.storage(storage);
    first_[storage + 1] = first_[storage] + record.reads;
    const bool constant = graph_.is_constant(storage);
    if (constant && input.options.soft_weights && record.bytes <= kReplicatedBytes) origin_[storage] = kNowhere;
    if (constant || origin_[storage] != kNone) continue;
    origin_[storage] = writers_[storage] == kNone ? capability_.last_device() : kOfWriter;
  }
  readers_.resize(first_.back());
  std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
  for (NodeId node = 0; node < graph_.node_count(); ++node)
    for (const TensorId input_tensor : graph_.node_inputs(node))
      if (input_tensor != kNone) readers_[next[graph_.storage_of(input_tensor)]++] = node;
}

uint64_t Communication::bytes(StorageId storage) {
  if (bytes_[storage] != UINT64_MAX) return bytes_[storage];
  const uint64_t whole = graph_.storage(storage).bytes;
  Region region;
  for (const NodeId reader : readers(storage))
    for (const TensorId input : graph_.node_inputs(reader)) {
      if (input == kNone || graph_.storage_of(input) != storage) continue;
      if (!graph_.is_view(input)) return bytes_[storage] = whole;
      region = united(region, region_of(graph_, input));
    }
  return bytes_[storage] = region.payload();
}

int64_t Communication::copy_ns(StorageId storage, uint32_t from, uint32_t to) {
  return capability_.reads_in_place(to, from) ? 0 : costs_.copy_ns(bytes(storage), from, to);
}

int64_t Communication::storage_ns(StorageId storage, std::span<const uint32_t> devices) {
  if (!is_copied(storage)) return 0;
  ++calls_;
  const uint32_t from = source(storage, devices);
  int64_t sum = 0;
  for (const NodeId reader : readers(storage)) {
    const uint32_t to = devices[reader];
    if (to == from || counted_[to] == calls_) continue;
    counted_[to] = calls_;
    sum += copy_ns(storage, from, to);
  }
  return sum;
}

}  // namespace backplane
