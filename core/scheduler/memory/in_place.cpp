#include "scheduler/memory/in_place.hpp"

#include <algorithm>

namespace backplane {
namespace {

// bp_node_answer.alias_mask has eight bits for each output.
constexpr uint32_t kMaskedOperands = 8;

class Finder {
 public:
  Finder(const SplitInput& input, const SplitResult& cut, const std::vector<Lifetime>& lives,
         const std::vector<bool>& eligible)
      : graph_(input.graph),
        capability_(input.capability),
        order_(input.order),
        cut_(cut),
        lives_(lives),
        eligible_(eligible) {}

  std::vector<InPlace> find(const TaskGraph& tasks) {
    uint32_t tick = 0;  // as lives count them
    for (const Task& task : tasks.tasks) {
      if (task.is_copy) {
        ++tick;
        continue;
      }
      const Split& split = cut_.splits[task.index];
      for (uint32_t i = 0; i < split.node_count; ++i) visit(order_[split.first_node + i], split.device, tick++);
    }
    return std::move(found_);
  }

 private:
  void visit(NodeId node, uint32_t device, uint32_t tick) {
    const uint64_t mask = capability_.alias_mask(node, device);
    const std::span<const TensorId> outputs = graph_.node_outputs(node);
    for (uint32_t k = 0; mask >> (kMaskedOperands * k) != 0 && k < std::min<size_t>(outputs.size(), kMaskedOperands);
         ++k) {
      if (outputs[k] == kNone) continue;
      const uint32_t result = instance_of(outputs[k], device);
      if (!is_fresh(outputs[k], result, device, tick)) continue;
      const auto allowed = static_cast<uint8_t>(mask >> (kMaskedOperands * k));
      const uint32_t operand = find_operand(node, outputs[k], device, tick, allowed);
      if (operand == kNone) continue;
      found_.push_back({result, operand});
      return;
    }
  }

  uint32_t instance_of(TensorId tensor, uint32_t device) const {
    return cut_.instance_on(graph_.storage_of(tensor), device);
  }
  uint32_t owner(uint32_t instance) const {
    return cut_.instances.is_home(instance) ? cut_.home[instance] : cut_.instances.device(instance);
  }
  // In an arena of the device, and the tensor is all of it.
  bool is_whole(TensorId tensor, uint32_t instance, uint32_t device) const {
    return eligible_[instance] && owner(instance) == device && is_all(tensor);
  }
  // Of its storage, as a view in another shape is too.
  bool is_all(TensorId tensor) const {
    const bp_tensor& record = graph_.tensor(tensor);
    return !graph_.is_view(tensor) ||
           (record.offset == 0 && record.bytes == graph_.storage(graph_.storage_of(tensor)).bytes);
  }
  bool is_fresh(TensorId tensor, uint32_t instance, uint32_t device, uint32_t tick) const {
    return is_whole(tensor, instance, device) && lives_[instance].first == tick;
  }
  bool looks_like(TensorId a, TensorId b) const {
    return graph_.dtype(a) == graph_.dtype(b) && graph_.tensor(a).bytes == graph_.tensor(b).bytes &&
           std::ranges::equal(graph_.shape(a), graph_.shape(b)) &&
           std::ranges::equal(graph_.strides(a), graph_.strides(b));
  }

  uint32_t find_operand(NodeId node, TensorId result, uint32_t device, uint32_t tick, uint8_t allowed) const {
    const std::span<const TensorId> inputs = graph_.node_inputs(node);
    for (uint32_t j = 0; j < std::min<size_t>(inputs.size(), kMaskedOperands); ++j) {
      if (inputs[j] == kNone || (allowed >> j & 1) == 0) continue;
      const uint32_t operand = instance_of(inputs[j], device);
      const Lifetime& life = lives_[operand];
      if (is_whole(inputs[j], operand, device) && looks_like(inputs[j], result) && life.last == tick &&
          !life.lengthened && life.first < tick && others_agree(node, graph_.storage_of(inputs[j]), result, allowed))
        return operand;
    }
    return kNone;
  }

  // Other operands of that storage are the same bytes in the same way, and no result is in it.
  bool others_agree(NodeId node, StorageId storage, TensorId result, uint8_t allowed) const {
    const std::span<const TensorId> inputs = graph_.node_inputs(node);
    for (uint32_t j = 0; j < inputs.size(); ++j) {
      if (inputs[j] == kNone || graph_.storage_of(inputs[j]) != storage) continue;
      if (j >= kMaskedOperands || (allowed >> j & 1) == 0 || !is_all(inputs[j]) || !looks_like(inputs[j], result))
        return false;
    }
    return std::ranges::none_of(graph_.node_outputs(node), [&](TensorId output) {
      return output != kNone && graph_.storage_of(output) == storage;
    });
  }

  const Graph& graph_;
  const Capability& capability_;
  const std::span<const NodeId> order_;
  const SplitResult& cut_;
  const std::vector<Lifetime>& lives_;
  const std::vector<bool>& eligible_;
  std::vector<InPlace> found_;
};

}  // namespace

std::vector<InPlace> find_in_place(const SplitInput& input, const SplitResult& cut, const TaskGraph& tasks,
                                   const std::vector<Lifetime>& lives, const std::vector<bool>& eligible) {
  return Finder(input, cut, lives, eligible).find(tasks);
}

}  // namespace backplane
