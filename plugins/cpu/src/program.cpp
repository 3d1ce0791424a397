#include "src/program.hpp"

#include "src/barrier.hpp"

namespace backplane_cpu {

namespace sdk = backplane::sdk;

namespace {

constexpr uint64_t kScratchAlignment = 64;  // as RunArgs promises

[[noreturn]] void invalid(const std::string& why) { throw sdk::Error(BP_E_INVALID_ARG, why); }

std::string node_name(const NodeView& node) {
  return "node " + std::to_string(node.index()) + " (" + sdk::op_name(node.op()) + ")";
}

// Bytes from a tensor's first element (or block) to behind its last; throws if that overflows.
uint64_t extent_bytes(const TensorView& tensor, sdk::TypeLayout layout) {
  uint64_t end = layout.block_bytes;
  for (uint32_t axis = 0; axis < tensor.rank(); ++axis) {
    const bool in_blocks = axis + 1 == tensor.rank() && layout.block_elements > 1;
    const int64_t count = in_blocks ? tensor.shape()[axis] / layout.block_elements : tensor.shape()[axis];
    if (count == 0) return 0;
    uint64_t span = 0;
    if (__builtin_mul_overflow(static_cast<uint64_t>(count - 1), static_cast<uint64_t>(tensor.strides()[axis]),
                               &span) ||
        __builtin_add_overflow(end, span, &end))
      invalid("tensor " + std::to_string(tensor.index()) + " spans more bytes than there are");
  }
  return end;
}

// Stands in for the address of a tensor without elements: kernels take null as "absent".
std::byte* no_elements() {
  alignas(64) static std::byte nothing[64];
  return nothing;
}

const HostBuffer* host_buffer(bp_buffer* handle) { return static_cast<const HostBuffer*>(sdk::from_handle(handle)); }

}  // namespace

// One submission in flight.
struct CpuProgram::Gang {
  uint32_t workers;
  const CancelCheck& cancel;
  Barrier barrier;
  // A stage's data error. Two in turn: a fast worker may fail in the next stage before a slow one has looked.
  std::atomic<const char*> errors[2];
  std::atomic<uint32_t> stop_at{UINT32_MAX};  // the stage before which all workers stop, because of a cancellation
  uint32_t last_step = 0;                     // the newest step that was run; worker 0's until all have returned

  Gang(uint32_t count, const CancelCheck& check)
      : workers(count), cancel(check), barrier(count), errors{nullptr, nullptr} {}
  const char* error() const { return errors[0] != nullptr ? errors[0].load() : errors[1].load(); }
};

CpuProgram::CpuProgram(const bp_graph& graph, Memory& memory) : memory_(memory) {
  for (uint32_t i = 0; i < graph.tensor_count; ++i) add_tensor(graph, i);
  for (uint32_t i = 0; i < graph.node_count; ++i) add_step(graph, i);
}

void CpuProgram::add_tensor(const bp_graph& graph, uint32_t index) {
  const TensorView tensor(graph, index);
  const sdk::TypeLayout layout = sdk::type_layout(tensor.dtype());
  const uint64_t alignment = layout.block_elements > 1 ? 1 : layout.block_bytes;
  tensors_.push_back({tensor.record().view_of, tensor.record().offset, extent_bytes(tensor, layout), alignment});
}

void CpuProgram::add_step(const bp_graph& graph, uint32_t index) {
  const NodeView node(graph, index);
  Prepared prepared = prepare_kernel(node);
  if (prepared.kernel == nullptr) throw sdk::Error(BP_E_UNSUPPORTED, node_name(node) + ": " + prepared.refusal);
  Step step{std::move(prepared.kernel), node_name(node), {}, {}, {}, {}};
  for (uint32_t i = 0; i < node.input_count(); ++i) {
    step.inputs.push_back(node.input_index(i));
    if (node.has_input(i)) tensors_[node.input_index(i)].read = true;
  }
  for (uint32_t i = 0; i < node.output_count(); ++i) {
    step.outputs.push_back(node.output_index(i));
    if (node.has_output(i)) tensors_[node.output_index(i)].written = true;
  }
  const uint32_t workers = std::max(step.kernel->max_workers(), 1u);
  if (workers == 1 && !stages_.empty() && stages_.back().workers == 1) {
    stages_.back().last = index;
  } else {
    stages_.push_back({index, index, workers});
  }
  widest_ = std::max(widest_, workers);
  steps_.push_back(std::move(step));
}

std::vector<CpuProgram::Place> CpuProgram::places_of(const bp_graph& graph) {
  std::vector<Place> places(graph.tensor_count);
  for (uint32_t i = 0; i < graph.tensor_count; ++i) {
    const bp_tensor& tensor = *bp_tensor_at(&graph, i);
    if (tensor.buffer != nullptr) places[i] = {host_buffer(tensor.buffer), tensor.offset};
  }
  return places;
}

std::vector<CpuProgram::Place> CpuProgram::places_of(const bp_binding* bindings, uint32_t count) const {
  std::vector<Place> places(tensors_.size());
  for (uint32_t i = 0; i < count; ++i) {
    const bp_binding& binding = bindings[i];
    const std::string who = "binding " + std::to_string(i);
    if (binding.tensor >= tensors_.size())
      invalid(who + " names tensor " + std::to_string(binding.tensor) + " of " + std::to_string(tensors_.size()));
    if (binding.buffer == nullptr) invalid(who + " has no buffer");
    if (binding.reserved != 0) invalid(who + " has a reserved field that is not zero");
    if (places[binding.tensor].buffer != nullptr)
      invalid("tensor " + std::to_string(binding.tensor) + " is bound twice");
    places[binding.tensor] = {host_buffer(binding.buffer), binding.offset};
  }
  return places;
}

// The address of a tensor's first element. A view without a place of its own lies in its owner's memory.
std::byte* CpuProgram::address(const std::vector<Place>& places, uint32_t index) const {
  const Tensor& tensor = tensors_[index];
  const std::string who = "tensor " + std::to_string(index);
  Place place = places[index];
  if (place.buffer == nullptr && tensor.view_of != BP_NONE) {
    place = places[tensor.view_of];
    if (__builtin_add_overflow(place.offset, tensor.offset, &place.offset)) invalid(who + " has too large an offset");
  }
  if (place.buffer == nullptr)
    invalid((tensor.view_of == BP_NONE ? who : "tensor " + std::to_string(tensor.view_of)) +
            " is not bound to a buffer");
  const uint64_t size = place.buffer->size_bytes();
  if (place.offset > size || tensor.extent > size - place.offset)
    invalid(who + " takes " + std::to_string(tensor.extent) + " bytes at offset " + std::to_string(place.offset) +
            " of a buffer of " + std::to_string(size));
  if (tensor.written) place.buffer->require_writable();
  if (tensor.extent == 0) return no_elements();
  std::byte* const start = place.buffer->data() + place.offset;
  if (reinterpret_cast<uintptr_t>(start) % tensor.alignment != 0)
    invalid(who + " starts at an address that is not a multiple of its element of " + std::to_string(tensor.alignment) +
            " bytes");
  return start;
}

void CpuProgram::bind(const std::vector<Place>& places) {
  std::vector<std::byte*> addresses(tensors_.size(), nullptr);
  for (uint32_t i = 0; i < tensors_.size(); ++i)
    if (tensors_[i].read || tensors_[i].written) addresses[i] = address(places, i);
  const auto pick = [&addresses](const std::vector<uint32_t>& tensors, std::vector<std::byte*>& to) {
    to.clear();
    for (const uint32_t tensor : tensors) to.push_back(tensor == BP_NONE ? nullptr : addresses[tensor]);
  };
  for (Step& step : steps_) {
    pick(step.inputs, step.input_addresses);
    pick(step.outputs, step.output_addresses);
  }
}

void CpuProgram::reserve_scratch(uint32_t workers) {
  if (workers == scratch_workers_) return;
  size_t bytes = 0;
  for (const Stage& stage : stages_)
    for (uint32_t i = stage.first; i <= stage.last; ++i)
      bytes = std::max(bytes, steps_[i].kernel->scratch_bytes(std::min(workers, stage.workers)));
  scratch_.reset();
  scratch_workers_ = 0;
  scratch_ = std::make_unique<HostBuffer>(bytes, kScratchAlignment, memory_);
  scratch_workers_ = workers;
}

void CpuProgram::run(const std::vector<Place>& places, const sdk::Host& host, uint32_t threads,
                     const CancelCheck& cancel) {
  const std::lock_guard lock(mutex_);
  bind(places);
  if (cancel.cancelled()) throw sdk::Error(BP_E_CANCELLED, "the run was cancelled before it started");
  const uint32_t workers = std::clamp(threads, 1u, widest_);
  reserve_scratch(workers);
  Gang gang(workers, cancel);
  run_gang(host, gang);
  if (const char* error = gang.error()) {
    throw sdk::Error(BP_E_DATA, steps_[gang.last_step].name + ": " + error);
  }
  if (gang.stop_at != UINT32_MAX) {
    throw sdk::Error(BP_E_CANCELLED, "the run was cancelled after " + steps_[gang.last_step].name + " of " +
                                         std::to_string(steps_.size()) + " nodes");
  }
}

void CpuProgram::run_gang(const sdk::Host& host, Gang& gang) {
  if (gang.workers == 1) return run_worker(gang, 0);
  host.parallel(gang.workers, true, [&](uint32_t worker) { run_worker(gang, worker); });
}

// All workers leave at the same stage: errors and stop_at are settled before the barrier that ends a stage.
void CpuProgram::run_worker(Gang& gang, uint32_t worker) const {
  for (uint32_t stage = 0; stage < stages_.size(); ++stage) {
    run_stage(gang, stage, worker);
    if (gang.errors[stage % 2] != nullptr || gang.stop_at <= stage + 1) return;
  }
}

void CpuProgram::run_stage(Gang& gang, uint32_t index, uint32_t worker) const {
  const Stage& stage = stages_[index];
  const uint32_t active = std::min(stage.workers, gang.workers);
  if (active == 1) {
    if (worker == 0) run_alone(gang, index);
    return gang.barrier.wait();
  }
  const Step& step = steps_[stage.first];
  RunArgs args = arguments(gang, index, step, worker, active);
  const uint32_t phases = step.kernel->phases();
  for (; args.phase < phases; ++args.phase) {
    if (worker < active) step.kernel->run(args);
    if (worker == 0 && args.phase + 1 == phases) poll(gang, index, stage.first);
    gang.barrier.wait();
  }
}

void CpuProgram::run_alone(Gang& gang, uint32_t index) const {
  const Stage& stage = stages_[index];
  for (uint32_t s = stage.first; s <= stage.last; ++s) {
    RunArgs args = arguments(gang, index, steps_[s], 0, 1);
    for (; args.phase < steps_[s].kernel->phases(); ++args.phase) steps_[s].kernel->run(args);
    if (poll(gang, index, s) || *args.error != nullptr) return;
  }
}

RunArgs CpuProgram::arguments(Gang& gang, uint32_t stage, const Step& step, uint32_t worker, uint32_t workers) const {
  return {step.input_addresses.data(),
          step.output_addresses.data(),
          scratch_->data(),
          &gang.errors[stage % 2],
          0,
          worker,
          workers};
}

// Worker 0, after a step: notes it, and whether the rest is cancelled.
bool CpuProgram::poll(Gang& gang, uint32_t stage, uint32_t step) const {
  gang.last_step = step;
  if (step + 1 == steps_.size() || !gang.cancel.cancelled()) return false;
  gang.stop_at = stage + 1;
  return true;
}

}  // namespace backplane_cpu
