#include "scheduler/execution/executor.hpp"

#include <algorithm>
#include <chrono>

#include "backplane/base/text.hpp"
#include "scheduler/memory/device_memory.hpp"

namespace backplane {
namespace {

using Clock = std::chrono::steady_clock;

uint64_t nanoseconds_since(Clock::time_point start) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

std::string split_text(const Plan& plan, uint32_t split) {
  return cat("split ", split, " on ", plan.device_names[plan.splits[split].device]);
}

}  // namespace

Executor::Executor(std::shared_ptr<const Plan> plan, std::vector<Device*> devices)
    : plan_(std::move(plan)), devices_(std::move(devices)) {}

Result<std::unique_ptr<Executor>> Executor::make(std::shared_ptr<const Plan> plan, std::vector<Device*> devices,
                                                 Refusal* refusal) {
  std::unique_ptr<Executor> executor(new Executor(std::move(plan), std::move(devices)));
  for (Device* device : executor->devices_) {
    BP_TRY_ASSIGN(Stream stream, device->create_stream());
    executor->streams_.push_back(std::move(stream));
  }
  BP_TRY(executor->allocate_pools());
  BP_TRY(executor->place_constants());
  BP_TRY(executor->clear_states());
  for (uint32_t split = 0; split < executor->plan_->splits.size(); ++split) BP_TRY(executor->compile(split, refusal));
  return executor;
}

Status Executor::allocate_pools() {
  for (const Pool& pool : plan_->pools) {
    std::vector<Buffer>& chunks = pools_.emplace_back();
    for (const uint64_t bytes : pool.chunk_bytes) {
      // At least one byte: a pool of empty tensors still needs an address to bind and to import.
      Result<Buffer> buffer =
          devices_[pool.device]->allocate(pool.memtype, std::max<uint64_t>(bytes, 1), BP_USAGE_COMPUTE);
      if (!buffer.ok())
        return buffer.status().with_context(
            cat("allocating ", bytes_text(bytes), " for activations on ", plan_->device_names[pool.device]));
      chunks.push_back(std::move(buffer).value());
    }
  }
  for (const Residence& residence : plan_->residences)
    if (residence.pool != kNone)
      spots_[{residence.storage, residence.device}] = {&pools_[residence.pool][residence.chunk], residence.offset};
    else if (plan_->graph->constant(residence.storage).is_null())
      BP_TRY(place_state(residence.storage, residence.device));
  return {};
}

Status Executor::place_state(StorageId storage, uint32_t device) {
  BP_TRY_ASSIGN(const uint64_t bytes, storage_bytes(*devices_[device], *plan_->graph, storage));
  BP_TRY_ASSIGN(Buffer buffer,
                devices_[device]->allocate(kComputeMemtype, std::max<uint64_t>(bytes, 1), BP_USAGE_COMPUTE));
  constants_.push_back(std::make_unique<Buffer>(std::move(buffer)));
  spots_[{storage, device}] = {constants_.back().get(), 0};
  return {};
}

Status Executor::place_constants() {
  for (const Residence& residence : plan_->residences)
    if (residence.pool == kNone && !plan_->graph->constant(residence.storage).is_null())
      BP_TRY(place_constant(residence.storage, residence.device));
  return {};
}

// Borrowed in place where the device can read the application's memory, else copied to the device once.
Status Executor::place_constant(StorageId storage, uint32_t device_index) {
  Device& device = *devices_[device_index];
  const Graph& graph = *plan_->graph;
  const HostTensor& value = graph.constant(storage);
  const TensorId root = graph.storage(storage).root;
  const auto address = reinterpret_cast<uintptr_t>(value.bytes().data());
  const bool aligned = address % type_layout(value.dtype()).block_bytes == 0 || !is_plain(value.dtype());
  Buffer buffer;
  if (const auto memtype = import_memtype(device, value.bytes().data()); memtype && aligned && !value.bytes().empty()) {
    BP_TRY_ASSIGN(buffer, device.import(*memtype, value.bytes().data(), value.bytes().size(), BP_USAGE_WEIGHTS, false));
  } else {
    BP_TRY_ASSIGN(const uint64_t bytes, storage_bytes(device, graph, storage));
    Result<Buffer> made = device.allocate(kComputeMemtype, bytes, BP_USAGE_WEIGHTS);
    if (!made.ok()) return made.status().with_context(cat("placing ", graph.tensor_text(root), " on ", device.name()));
    buffer = std::move(made).value();
    BP_TRY(buffer.write(0, value.bytes()));
  }
  constants_.push_back(std::make_unique<Buffer>(std::move(buffer)));
  spots_[{storage, device_index}] = {constants_.back().get(), 0};
  return {};
}

Status Executor::clear_states() {
  const Graph& graph = *plan_->graph;
  for (StorageId storage = 0; storage < graph.storage_count(); ++storage) {
    if ((graph.storage(storage).flags & BP_TENSOR_STATE) == 0 || plan_->homes[storage] == kNone) continue;
    const auto found = spots_.find({storage, plan_->homes[storage]});
    if (found != spots_.end())
      BP_TRY(found->second.buffer->fill(found->second.offset, graph.storage(storage).bytes, 0));
  }
  return {};
}

// Where kernels of a device find a storage: on the device, or at its home through an import.
Result<Executor::Spot> Executor::spot(StorageId storage, uint32_t device) {
  if (const auto found = spots_.find({storage, device}); found != spots_.end()) return found->second;
  const auto home = spots_.find({storage, plan_->homes[storage]});
  if (plan_->homes[storage] == kNone || home == spots_.end())
    return internal_error(cat(plan_->graph->tensor_text(plan_->graph->storage(storage).root), " has no place on ",
                              plan_->device_names[device]));
  BP_TRY_ASSIGN(Buffer* const buffer, imported(*home->second.buffer, device));
  return Spot{buffer, home->second.offset};
}

Result<Buffer*> Executor::imported(Buffer& owner, uint32_t device) {
  if (const auto found = imports_.find({&owner, device}); found != imports_.end()) return &found->second;
  BP_TRY_ASSIGN(std::byte* const address, owner.map(0, owner.bytes(), BP_MAP_READ | BP_MAP_WRITE));
  const std::optional<uint32_t> memtype = import_memtype(*devices_[device], address);
  if (!memtype)
    return internal_error(cat(plan_->device_names[device], " said it reads memory of ", owner.device().name(),
                              " in place, and does not take it"));
  BP_TRY_ASSIGN(Buffer buffer, devices_[device]->import(*memtype, address, owner.bytes(), BP_USAGE_COMPUTE, true));
  return &imports_.emplace(std::pair{&owner, device}, std::move(buffer)).first->second;
}

Status Executor::compile(uint32_t index, Refusal* refusal) {
  const Split& split = plan_->splits[index];
  Device& device = *devices_[split.device];
  CompiledSplit compiled{Subgraph(*plan_->graph, plan_->nodes(split)), {}, {}};
  if (device.has(BP_CAP_PROGRAMS)) {
    Result<Program> program = device.compile(compiled.graph.abi());
    if (!program.ok()) {
      if (program.status().code() == Code::unimplemented && refusal != nullptr) *refusal = {index, program.status()};
      return program.status().with_context(cat("compiling ", split_text(*plan_, index)));
    }
    compiled.program = std::move(program).value();
  }
  BP_TRY(bind(compiled, split.device));
  splits_.push_back(std::move(compiled));
  return {};
}

Status Executor::bind(CompiledSplit& compiled, uint32_t device) {
  const Graph& graph = *plan_->graph;
  for (uint32_t local = 0; local < compiled.graph.tensors().size(); ++local) {
    const TensorId tensor = compiled.graph.tensors()[local];
    if (graph.is_view(tensor)) continue;
    BP_TRY_ASSIGN(const Spot place, spot(graph.storage_of(tensor), device));
    compiled.graph.bind(local, place.buffer->handle(), place.offset);
    compiled.bindings.push_back({local, 0, place.buffer->handle(), place.offset});
  }
  return {};
}

Status Executor::write(StorageId storage, uint64_t offset, std::span<const std::byte> bytes) {
  const auto found = spots_.find({storage, plan_->homes[storage]});
  if (found == spots_.end()) return {};  // nobody reads it
  return found->second.buffer->write(found->second.offset + offset, bytes);
}

Status Executor::read(StorageId storage, uint64_t offset, std::span<std::byte> bytes) {
  const auto found = spots_.find({storage, plan_->homes[storage]});
  if (found == spots_.end()) return internal_error("a graph output has no memory");
  return found->second.buffer->read(found->second.offset + offset, bytes);
}

Status Executor::copy(const PlannedCopy& planned) {
  const Spot from = spots_.at({planned.storage, planned.from});
  const Spot to = spots_.at({planned.storage, planned.to});
  Status status;
  for (uint64_t row = 0; row < planned.rows && status.ok(); ++row) {
    const uint64_t at = planned.offset + row * planned.pitch_bytes;
    status = copy_between(*from.buffer, from.offset + at, *to.buffer, to.offset + at, planned.row_bytes);
  }
  return status.with_context(cat("copying ", plan_->graph->tensor_text(plan_->graph->storage(planned.storage).root),
                                 " from ", plan_->device_names[planned.from], " to ", plan_->device_names[planned.to]));
}

Status Executor::submit(uint32_t index, bp_run_id run) {
  CompiledSplit& compiled = splits_[index];
  Stream& stream = streams_[plan_->splits[index].device];
  const Status queued = compiled.program ? stream.submit(compiled.program, compiled.bindings, run)
                                         : stream.submit(compiled.graph.abi(), run);
  // Also after a failure: nothing may still run when the caller hears of it.
  const Status finished = stream.synchronize();
  return queued.ok() ? finished : queued;
}

Status Executor::run(bp_run_id run, const std::function<bool()>& cancelled, RunStatistics& statistics,
                     Refusal* refusal) {
  statistics.split_ns.assign(plan_->splits.size(), 0);
  for (const Task& task : plan_->tasks) {
    if (cancelled()) return {Code::cancelled, "the run was cancelled"};
    const Clock::time_point start = Clock::now();
    if (task.is_copy) {
      BP_TRY(copy(plan_->copies[task.index]));
      statistics.copied_bytes += plan_->copies[task.index].bytes();
      ++statistics.copy_count;
      continue;
    }
    if (Status status = submit(task.index, run); !status.ok()) {
      if (status.code() == Code::unimplemented && refusal != nullptr) *refusal = {task.index, status};
      return status.with_context(cat("running ", split_text(*plan_, task.index)));
    }
    ++statistics.split_count;
    statistics.split_ns[task.index] = nanoseconds_since(start);
  }
  return {};
}

}  // namespace backplane
