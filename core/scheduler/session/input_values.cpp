#include "scheduler/session/input_values.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"

namespace backplane {

void InputValues::reset(const Graph& graph, bool keep_copies) {
  values_.clear();
  keep_copies_ = keep_copies;
  for (const Graph::Port& port : graph.inputs()) {
    values_.emplace_back();
    values_.back().storage = graph.storage_of(port.tensor);
  }
}

uint64_t& InputValues::slot_version(Value& value, uint32_t slot) {
  if (value.slot_versions.size() <= slot) value.slot_versions.resize(slot + 1, 0);
  return value.slot_versions[slot];
}

Status InputValues::set(Executor& executor, StorageId storage, std::span<const std::byte> bytes) {
  const auto value = std::ranges::find(values_, storage, &Value::storage);
  const uint32_t slot = executor.next_slot();
  BP_TRY(executor.write(storage, slot, 0, bytes));
  value->slot = slot;
  slot_version(*value, slot) = ++value->version;
  if (keep_copies_) value->copy.assign(bytes.begin(), bytes.end());
  return {};
}

Status InputValues::complete(Executor& executor, const Graph& graph) {
  const uint32_t slot = executor.next_slot();
  for (Value& value : values_) {
    if (slot_version(value, slot) == value.version) continue;
    staging_.resize(graph.storage(value.storage).bytes);
    BP_TRY(executor.read(value.storage, value.slot, 0, staging_));
    BP_TRY(executor.write(value.storage, slot, 0, staging_));
    value.slot = slot;
    slot_version(value, slot) = value.version;
  }
  return {};
}

Status InputValues::save_one(Value& value, Executor& from, const Graph& graph, uint32_t slot,
                             const std::vector<bool>& is_lost, std::vector<std::byte>& bytes) {
  if (value.version == 0) return {};
  const uint32_t home = from.plan()->homes[value.storage];
  if (home == kNone || !is_lost[home]) {
    bytes.resize(graph.storage(value.storage).bytes);
    return from.read(value.storage, slot, 0, bytes);
  }
  if (!keep_copies_ || slot_version(value, slot) != value.version)
    return failed_precondition(cat("the value of input ", graph.tensor_text(graph.storage(value.storage).root),
                                   " was on a device that was lost"),
                               "session.input-lost");
  bytes = value.copy;
  return {};
}

Result<InputValues::Snapshot> InputValues::save(Executor& from, const Graph& graph, uint32_t slot,
                                                const std::vector<bool>& is_lost) {
  Snapshot snapshot(values_.size());
  for (size_t i = 0; i < values_.size(); ++i) BP_TRY(save_one(values_[i], from, graph, slot, is_lost, snapshot[i]));
  return snapshot;
}

Result<InputValues::Snapshot> InputValues::save(Executor& from, const Graph& graph, const std::vector<bool>& is_lost) {
  Snapshot snapshot(values_.size());
  for (size_t i = 0; i < values_.size(); ++i)
    BP_TRY(save_one(values_[i], from, graph, values_[i].slot, is_lost, snapshot[i]));
  return snapshot;
}

Status InputValues::restore(const Snapshot& snapshot, Executor& to, bool newest) {
  const uint32_t slot = to.next_slot();
  for (size_t i = 0; i < values_.size(); ++i) {
    Value& value = values_[i];
    if (value.version == 0) continue;
    BP_TRY(to.write(value.storage, slot, 0, snapshot[i]));
    if (!newest) continue;
    value.slot = slot;
    value.slot_versions.clear();
    slot_version(value, slot) = value.version;
  }
  return {};
}

std::string InputValues::missing(const Graph& graph) const {
  std::string text;
  for (size_t i = 0; i < values_.size(); ++i)
    if (values_[i].version == 0) text += cat(text.empty() ? "" : ", ", graph.tensor_text(graph.inputs()[i].tensor));
  return text;
}

}  // namespace backplane
