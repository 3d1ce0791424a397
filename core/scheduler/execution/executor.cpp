#include "scheduler/execution/executor.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"

namespace backplane {

Executor::Executor(const Input& input) : runtime_(input.runtime), plan_(input.plan), devices_(input.devices) {}

Result<std::unique_ptr<Executor>> Executor::make(const Input& input, Setback* setback) {
  std::unique_ptr<Executor> executor(new Executor(input));
  uint32_t device = kNone;
  Result<BoundMemory> memory =
      BoundMemory::make(*executor->plan_, executor->devices_, input.memory, std::max(input.depth, 1u), &device);
  if (!memory.ok()) {
    *setback = setback_of(memory.status(), device, kNone);
    return memory.status();
  }
  executor->memory_ = std::move(memory).value();
  for (uint32_t slot = 0; slot < executor->depth(); ++slot) executor->runs_.push_back(std::make_unique<RunState>());
  executor->assign_tasks();
  if (input.check_races)
    executor->races_ = std::make_unique<RaceChecker>(static_cast<uint32_t>(executor->lane_tasks_.size()));
  if (input.guard_memory) {
    executor->guard_ = std::make_unique<MemoryGuard>(*executor->plan_, executor->memory_);
    BP_TRY(executor->guard_->prepare());
  }
  BP_TRY(executor->make_lanes(setback));
  BP_TRY(executor->make_splits(input.donor, setback));
  BP_TRY(executor->bind());
  BP_TRY(executor->memory_.activate_states(input.memory));
  return executor;
}

Executor::~Executor() {
  cancel();
  drain();
  stop_threads();
}

Status Executor::activate(SessionMemory& memory) {
  BP_TRY_ASSIGN(const bool moved, memory_.refresh(devices_, memory));
  if (moved) BP_TRY(bind());
  return memory_.activate_states(memory);
}

void Executor::assign_tasks() {
  const Plan& plan = *plan_;
  lane_tasks_.resize(2 * devices_.size());
  signals_.resize(plan.tasks.size());
  writes_state_.resize(plan.tasks.size());
  for (uint32_t index = 0; index < plan.tasks.size(); ++index) {
    const Task& task = plan.tasks[index];
    lane_tasks_[task.lane].push_back(index);
    const auto is_state = [&](StorageId storage) {
      return (plan.graph->storage(storage).flags & BP_TENSOR_STATE) != 0;
    };
    if (task.is_copy) {
      writes_state_[index] = plan.copies[task.index].write_back && is_state(plan.copies[task.index].storage);
      continue;
    }
    for (const NodeId node : plan.nodes(plan.splits[task.index]))
      for (const TensorId output : plan.graph->node_outputs(node))
        if (output != kNone && is_state(plan.graph->storage_of(output))) writes_state_[index] = 1;
  }
  for (const uint32_t task : plan.waits) signals_[task] = 1;
  for (const uint32_t task : plan.carried_waits) signals_[task] = 1;
}

Status Executor::make_lanes(Setback* setback) {
  lanes_.resize(lane_tasks_.size());
  staging_.resize(devices_.size());
  for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    if (lane_tasks_[lane].empty()) continue;
    ++lane_count_;
    if (const Status status = make_lane(lane); !status.ok()) {
      *setback = setback_of(status, device_of(lane), kNone);
      return status;
    }
  }
  return {};
}

Status Executor::make_lane(uint32_t number) {
  const std::vector<uint32_t>& tasks = lane_tasks_[number];
  Device& device = *devices_[device_of(number)];
  BP_TRY_ASSIGN(lanes_[number], Lane::make(device, static_cast<uint32_t>(tasks.size()), depth() + 1));
  Lane& lane = *lanes_[number];
  if (!lane.is_async() || !lane.has_events()) return {};
  for (const uint32_t task : tasks)
    if (signals_[task] != 0) BP_TRY(lane.make_events(plan_->tasks[task].rank));
  return lane.make_events(lane.task_count());
}

Status Executor::make_splits(Executor* donor, Setback* setback) {
  splits_.reserve(plan_->splits.size());
  for (uint32_t index = 0; index < plan_->splits.size(); ++index) {
    const Split& split = plan_->splits[index];
    const bool fits = donor != nullptr && index < donor->splits_.size() &&
                      donor->plan_->splits[index].device == split.device &&
                      donor->plan_->splits[index].node_count == split.node_count;
    Result<CompiledSplit> made =
        CompiledSplit::make(*plan_, split, *devices_[split.device], fits ? &donor->splits_[index] : nullptr);
    if (!made.ok()) {
      *setback = setback_of(made.status(), split.device, index);
      return made.status().with_context(cat("compiling split ", index, " on ", plan_->device_names[split.device]));
    }
    splits_.push_back(std::move(made).value());
  }
  return {};
}

Status Executor::bind() {
  for (uint32_t index = 0; index < splits_.size(); ++index) {
    const Split& split = plan_->splits[index];
    BP_TRY(splits_[index].bind(*plan_, split, *devices_[split.device], memory_));
  }
  make_copies();
  return {};
}

void Executor::make_copies() {
  copies_.clear();
  copies_.reserve(plan_->copies.size());
  for (size_t i = 0; i < plan_->copies.size(); ++i) {
    const uint32_t target = plan_->copies[i].to;
    copies_.emplace_back(*plan_, transfer_at(plan_->copies, i), memory_, *devices_[target]);
    std::vector<std::byte>& staging = staging_[target];
    staging.resize(std::max<size_t>(staging.size(), copies_.back().staging_bytes()));
  }
}

Status Executor::write(StorageId storage, uint32_t slot, uint64_t offset, std::span<const std::byte> bytes) {
  const Residence* place = plan_->homes[storage] == kNone ? nullptr : plan_->residence(storage, plan_->homes[storage]);
  if (place == nullptr) return {};
  const Spot spot = memory_.spot(*place, slot);
  return spot.buffer->write(spot.offset + offset, bytes);
}

Status Executor::read(StorageId storage, uint32_t slot, uint64_t offset, std::span<std::byte> bytes) {
  const Residence* place = plan_->homes[storage] == kNone ? nullptr : plan_->residence(storage, plan_->homes[storage]);
  if (place == nullptr) return internal_error("a graph output has no memory");
  const Spot spot = memory_.spot(*place, slot);
  return spot.buffer->read(spot.offset + offset, bytes);
}

Status Executor::read_on(uint32_t device, StorageId storage, uint32_t slot, std::span<std::byte> bytes) {
  const Residence* place = plan_->residence(storage, device);
  if (place == nullptr) return internal_error("the result of a node has no memory");
  const Spot spot = memory_.spot(*place, slot);
  return spot.buffer->read(spot.offset, bytes);
}

}  // namespace backplane
