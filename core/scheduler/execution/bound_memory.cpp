#include "scheduler/execution/bound_memory.hpp"

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

// Notes which device has failed.
template <class T>
Result<T> noting(Result<T> result, uint32_t device, uint32_t* failing) {
  if (!result.ok() && failing != nullptr) *failing = device;
  return result;
}

}  // namespace

Result<BoundMemory> BoundMemory::make(const Plan& plan, const std::vector<Device*>& devices, SessionMemory& memory,
                                      uint32_t depth, uint32_t* failing) {
  BoundMemory bound;
  bound.plan_ = &plan;
  bound.pools_.resize(plan.pools.size());
  BP_TRY(bound.place_outside(devices, memory, failing));
  for (uint32_t pool = 0; pool < plan.pools.size(); ++pool) {
    if (plan.pools[pool].kind != PoolKind::arena) continue;
    const uint32_t device = plan.pools[pool].device;
    BP_TRY_ASSIGN(bound.pools_[pool], noting(memory.arena(*devices[device], plan.pools[pool]), device, failing));
  }
  // The first slot must be had; further ones are given up where memory is short.
  BP_TRY(bound.allocate_ports(devices, 1, failing));
  for (bound.depth_ = 1; bound.depth_ < depth; ++bound.depth_)
    if (!bound.allocate_ports(devices, bound.depth_ + 1, nullptr).ok()) break;
  return bound;
}

Status BoundMemory::allocate_ports(const std::vector<Device*>& devices, uint32_t depth, uint32_t* failing) {
  std::vector<std::vector<BufferRef>> pools = pools_;
  for (uint32_t index = 0; index < pools.size(); ++index) {
    const Pool& pool = plan_->pools[index];
    if (pool.kind != PoolKind::ports) continue;
    while (pools[index].size() < depth * pool.chunk_bytes.size()) {
      const uint64_t bytes = pool.chunk_bytes[pools[index].size() % pool.chunk_bytes.size()];
      Result<BufferRef> made = noting(make_shared_buffer(*devices[pool.device], pool.memtype, bytes, BP_USAGE_COMPUTE),
                                      pool.device, failing);
      if (!made.ok())
        return made.status().with_context(cat("allocating ", bytes_text(bytes), " for graph inputs and outputs on ",
                                              plan_->device_names[pool.device]));
      pools[index].push_back(std::move(made).value());
    }
  }
  pools_ = std::move(pools);
  return {};
}

Status BoundMemory::place_outside(const std::vector<Device*>& devices, SessionMemory& memory, uint32_t* failing) {
  const Graph& graph = *plan_->graph;
  outside_.resize(plan_->residences.size());
  for (size_t i = 0; i < outside_.size(); ++i) {
    const Residence& residence = plan_->residences[i];
    if (residence.pool != kNone) continue;
    const uint32_t number = residence.device;
    const bool constant = graph.is_constant(residence.storage);
    BP_TRY_ASSIGN(outside_[i], noting(constant ? memory.constant(graph, residence.storage, *devices[number])
                                               : memory.state(graph, residence.storage, *devices[number]),
                                      number, failing));
  }
  return {};
}

Spot BoundMemory::spot(const Residence& residence, uint32_t slot) const {
  if (residence.pool == kNone) return {outside_[static_cast<size_t>(&residence - plan_->residences.data())].get(), 0};
  const Pool& pool = plan_->pools[residence.pool];
  const size_t first = pool.kind == PoolKind::ports ? slot * pool.chunk_bytes.size() : 0;
  return {pools_[residence.pool][first + residence.chunk].get(), residence.offset};
}

Status BoundMemory::activate_states(SessionMemory& memory) const {
  for (size_t i = 0; i < outside_.size(); ++i) {
    const StorageId storage = plan_->residences[i].storage;
    if (outside_[i] != nullptr && !plan_->graph->is_constant(storage))
      BP_TRY(memory.activate_state(*plan_->graph, storage, outside_[i]));
  }
  return {};
}

Result<bool> BoundMemory::refresh(const std::vector<Device*>& devices, SessionMemory& memory) {
  bool changed = false;
  for (uint32_t index = 0; index < pools_.size(); ++index) {
    const Pool& pool = plan_->pools[index];
    if (pool.kind != PoolKind::arena || memory.is_current_arena(*devices[pool.device], pool, pools_[index])) continue;
    BP_TRY_ASSIGN(pools_[index], memory.arena(*devices[pool.device], pool));
    changed = true;
  }
  return changed;
}

}  // namespace backplane
