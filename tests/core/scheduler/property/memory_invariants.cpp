#include "memory_invariants.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"

namespace backplane::testing {
namespace {

// From the first to the last use of a residence, in nodes and copies of the plan's order.
struct Life {
  uint32_t first = kNone, last = 0;
  NodeId first_node = kNone;  // kNone = a copy
};

class Checker {
 public:
  Checker(const Plan& plan, const std::vector<Device*>& devices)
      : plan_(plan), graph_(*plan.graph), lives_(plan.residences.size()) {
    for (Device* device : devices) answers_.push_back(device->query(graph_.abi()).value());
  }

  std::string check() {
    for (const Task& task : plan_.tasks) visit(task);
    for (uint32_t i = 0; i < lives_.size(); ++i)
      if (plan_.residences[i].in_place_of != kNone)
        if (std::string fault = check_in_place(i); !fault.empty())
          return cat("17: s", plan_.residences[i].storage, " takes over s", plan_.residences[i].in_place_of, " ",
                     fault);
    return check_disjoint();
  }

 private:
  const Pool* arena_of(const Residence& residence) const {
    const bool pooled = residence.pool != kNone && plan_.pools[residence.pool].kind == PoolKind::arena;
    return pooled ? &plan_.pools[residence.pool] : nullptr;
  }
  uint64_t bytes(uint32_t residence) const { return graph_.storage(plan_.residences[residence].storage).bytes; }

  void use(StorageId storage, uint32_t device, NodeId node) {
    const Residence* residence = plan_.residence(storage, device);
    if (residence == nullptr) return;
    Life& life = lives_[static_cast<size_t>(residence - plan_.residences.data())];
    if (life.first == kNone) life.first = tick_, life.first_node = node;
    life.last = tick_;
  }

  void visit(const Task& task) {
    if (task.is_copy) {
      for (const PlannedCopy& copy : plan_.transfer(task)) {
        use(copy.storage, copy.from, kNone);
        use(copy.storage, copy.to, kNone);
        if (copy.indices != kNone)
          use(graph_.storage_of(copy.indices), plan_.homes[graph_.storage_of(copy.indices)], kNone);
      }
      ++tick_;
      return;
    }
    for (const NodeId node : plan_.nodes(plan_.splits[task.index])) {
      for (const TensorId input : graph_.node_inputs(node))
        if (input != kNone) use(graph_.storage_of(input), task.device, node);
      for (const TensorId output : graph_.node_outputs(node))
        if (output != kNone) use(graph_.storage_of(output), task.device, node);
      ++tick_;
    }
  }

  bool looks_like(TensorId a, TensorId b) const {
    return graph_.dtype(a) == graph_.dtype(b) && std::ranges::equal(graph_.shape(a), graph_.shape(b)) &&
           std::ranges::equal(graph_.strides(a), graph_.strides(b));
  }

  std::string check_in_place(uint32_t index) const {
    const Residence& result = plan_.residences[index];
    const Residence* operand = plan_.residence(result.in_place_of, result.device);
    if (arena_of(result) == nullptr || operand == nullptr || operand->pool != result.pool ||
        operand->chunk != result.chunk || operand->offset != result.offset || operand->device != result.device)
      return "elsewhere";
    const Life& life = lives_[index];
    const NodeId node = life.first_node;
    if (node == kNone || plan_.placements[node].device != result.device) return "in no node of the device";
    if (lives_[static_cast<size_t>(operand - plan_.residences.data())].last != life.first) return "before its last use";
    return check_operands(node, result.storage, operand->storage);
  }

  // Some result is the whole storage; all operands in the other storage look like it and may be overwritten.
  std::string check_operands(NodeId node, StorageId result, StorageId operand) const {
    const uint64_t mask = answers_[plan_.placements[node].device].alias_mask(node);
    const auto outputs = graph_.node_outputs(node), inputs = graph_.node_inputs(node);
    for (uint32_t k = 0; k < outputs.size(); ++k) {
      if (outputs[k] == kNone || graph_.storage_of(outputs[k]) != result) continue;
      if (graph_.is_view(outputs[k])) return "with a part of itself";
      uint32_t count = 0;
      for (uint32_t j = 0; j < inputs.size(); ++j) {
        if (inputs[j] == kNone || graph_.storage_of(inputs[j]) != operand) continue;
        ++count;
        if (k >= 8 || j >= 8 || (mask >> (8 * k + j) & 1) == 0)
          return cat("and the device does not allow it for input ", j);
        if (!looks_like(inputs[j], outputs[k]) || graph_.tensor(inputs[j]).bytes != graph_.storage(operand).bytes)
          return cat("and input ", j, " looks different");
      }
      return count != 0 ? "" : "which is no operand";
    }
    return "and is no result";
  }

  std::string check_disjoint() {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < lives_.size(); ++i)
      if (arena_of(plan_.residences[i]) != nullptr && lives_[i].first != kNone && bytes(i) != 0) order.push_back(i);
    std::ranges::stable_sort(order, {}, [this](uint32_t i) { return lives_[i].first; });
    std::vector<uint32_t> alive;
    for (const uint32_t i : order) {
      std::erase_if(alive, [&](uint32_t other) { return lives_[other].last < lives_[i].first; });
      for (const uint32_t other : alive)
        if (overlap(i, other) && !takes_over(i, other))
          return cat("14: s", plan_.residences[i].storage, " and s", plan_.residences[other].storage,
                     " share bytes of pool ", plan_.residences[i].pool, " at the same time");
      alive.push_back(i);
    }
    return "";
  }

  bool overlap(uint32_t i, uint32_t j) const {
    const Residence &a = plan_.residences[i], &b = plan_.residences[j];
    return a.pool == b.pool && a.chunk == b.chunk && a.offset < b.offset + bytes(j) && b.offset < a.offset + bytes(i);
  }
  bool takes_over(uint32_t later, uint32_t earlier) const {
    return plan_.residences[later].in_place_of == plan_.residences[earlier].storage &&
           lives_[earlier].last == lives_[later].first;
  }

  const Plan& plan_;
  const Graph& graph_;
  std::vector<NodeAnswers> answers_;  // by device
  std::vector<Life> lives_;           // by residence
  uint32_t tick_ = 0;
};

}  // namespace

std::string check_memory_invariants(const Plan& plan, const std::vector<Device*>& devices) {
  return Checker(plan, devices).check();
}

}  // namespace backplane::testing
