#include "src/device.hpp"

#include <cstring>

#include "kernels/kernel.hpp"
#include "kernels/types.hpp"
#include "kernels/walk.hpp"
#include "src/program.hpp"
#include "src/stream.hpp"

namespace backplane_cpu {

namespace sdk = backplane::sdk;

namespace {

CpuDevice& cpu_device(bp_device* handle) { return *static_cast<CpuDevice*>(sdk::from_handle(handle)); }

const bp_ext_cpu_threads kThreadsTable{{sizeof(bp_ext_cpu_threads), BP_KIND_TABLE_EXTENSION},
                                       [](bp_device* device) -> uint32_t { return cpu_device(device).threads(); },
                                       [](bp_device* device, uint32_t count, bp_error*) -> bp_code {
                                         cpu_device(device).set_threads(count);
                                         return BP_OK;
                                       }};

const bp_ext_memtypes kMemtypesTable{{sizeof(bp_ext_memtypes), BP_KIND_TABLE_EXTENSION},
                                     [](bp_device* device, const char* name) -> uint32_t {
                                       return name == nullptr ? BP_NONE : cpu_device(device).find_memtype(name);
                                     }};

// Whether arithmetic of the node is emulated: half precision is computed in f32.
bool is_emulated(const NodeView& node) {
  if (node.op() < BP_OP_ABS) return false;  // movement
  const auto half = [](const TensorView& t) { return t.dtype() == BP_TYPE_F16 || t.dtype() == BP_TYPE_BF16; };
  for (uint32_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && half(node.input(i))) return true;
  return false;
}

}  // namespace

CpuDevice::CpuDevice(sdk::Host host, Memory& memory, DeviceTraits traits)
    : host_(host), memory_(memory), traits_(std::move(traits)), memory_total_(memory.figures().total_bytes) {}

uint32_t CpuDevice::find_memtype(std::string_view name) const {
  for (uint32_t i = 0; i < traits_.kinds.size(); ++i)
    if (traits_.kinds[i].name == name) return i;
  return BP_NONE;
}

uint32_t CpuDevice::threads() const {
  const uint32_t pool = std::max(host_.worker_count(), 1u), wanted = threads_.load(std::memory_order_relaxed);
  return wanted == 0 ? pool : std::min(wanted, pool);
}

bp_device_info CpuDevice::info() {
  bp_device_info info{};
  info.name = traits_.name;
  info.description = traits_.description.c_str();
  info.type = BP_DEVICE_CPU;
  info.numa_node = traits_.numa_node;
  info.caps = BP_CAP_IMPORT_HOST | BP_CAP_CANCEL | BP_CAP_PROGRAMS;
  info.memory_total = memory_total_;
  info.memtype_count = static_cast<uint32_t>(traits_.kinds.size());
  info.max_rank = kMaxRank;
  return info;
}

bp_memtype_info CpuDevice::memtype(uint32_t index) {
  bp_memtype_info info{};
  info.name = traits_.kinds[index].name;
  info.flags = BP_MEM_DEVICE | BP_MEM_HOST_VISIBLE | BP_MEM_COHERENT;
  info.alignment = traits_.kinds[index].alignment;
  return info;
}

bp_memory_stats CpuDevice::memory() {
  const MemoryFigures figures = memory_.figures();
  bp_memory_stats stats{};
  stats.valid = BP_STATS_USED | BP_STATS_PEAK;
  if (figures.total_bytes != 0) stats.valid |= BP_STATS_TOTAL | BP_STATS_FREE;
  stats.total = figures.total_bytes;
  stats.free = figures.free_bytes;
  stats.used = memory_.used_bytes();
  stats.peak = memory_.peak_bytes();
  return stats;
}

uint32_t CpuDevice::foreign_access(const bp_foreign_memory& memory) {
  if (memory.handle_type != BP_HANDLE_HOST_POINTER || (memory.memtype_flags & BP_MEM_PRIVATE_FMT) != 0) return 0;
  const uint32_t copies = BP_ACCESS_COPY_FROM | BP_ACCESS_COPY_TO;
  if (memory.alignment % kImportAlignment != 0 || memory.alignment == 0) return copies;
  const bool of_application = memory.plugin_id == nullptr || *memory.plugin_id == '\0';
  if (of_application && !traits_.reads_application_memory) return copies;
  return copies | BP_ACCESS_READ_IN_PLACE | BP_ACCESS_WRITE_IN_PLACE;
}

bp_node_answer CpuDevice::query(const bp_graph& graph, uint32_t index, std::string& reason) {
  const NodeView node(graph, index);
  const Prepared prepared = prepare_kernel(node);
  bp_node_answer answer{};
  answer.reason_at = BP_NONE;
  answer.verdict = BP_VERDICT_NO;
  if (prepared.kernel == nullptr) {
    reason = prepared.refusal;
    return answer;
  }
  answer.alias_mask = prepared.alias_mask;
  answer.verdict = is_emulated(node) ? BP_VERDICT_SLOW : BP_VERDICT_YES;
  if (answer.verdict == BP_VERDICT_SLOW) reason = "half precision is computed in f32";
  return answer;
}

std::unique_ptr<sdk::Buffer> CpuDevice::create_buffer(const bp_buffer_desc& desc) {
  if (desc.host_ptr != nullptr) return import_buffer(desc);
  const MemoryKind& kind = traits_.kinds[desc.memtype];
  if (kind.lent && desc.bytes != 0)
    throw sdk::Error(BP_E_INVALID_ARG,
                     "memory type " + std::string(kind.name) + " holds the caller's memory: host_ptr is NULL");
  return std::make_unique<HostBuffer>(desc.bytes, kind.alignment, memory_);
}

std::unique_ptr<HostBuffer> CpuDevice::import_buffer(const bp_buffer_desc& desc) {
  const MemoryKind& kind = traits_.kinds[desc.memtype];
  if (desc.host_ptr_use == BP_HOST_PTR_COPY) {
    auto buffer = std::make_unique<HostBuffer>(desc.bytes, std::max(kind.alignment, kBufferAlignment), memory_);
    if (desc.bytes != 0) buffer->write(0, desc.host_ptr, desc.bytes);
    if (desc.release != nullptr) desc.release(desc.release_user, desc.host_ptr);
    return buffer;
  }
  if (reinterpret_cast<uintptr_t>(desc.host_ptr) % kind.alignment != 0)
    throw sdk::Error(BP_E_INVALID_ARG, "host_ptr is not aligned to " + std::to_string(kind.alignment) +
                                           " bytes, as memory type " + kind.name + " wants");
  return std::make_unique<HostBuffer>(desc.host_ptr, desc.bytes, desc.host_ptr_use == BP_HOST_PTR_BORROW_WRITE,
                                      desc.release, desc.release_user);
}

std::unique_ptr<sdk::Stream> CpuDevice::create_stream(const bp_stream_desc&) {
  return std::make_unique<CpuStream>(*this);
}

std::unique_ptr<sdk::Program> CpuDevice::compile(const bp_graph& graph) {
  return std::make_unique<CpuProgram>(graph, memory_);
}

const void* CpuDevice::extension(std::string_view name, uint32_t min_version) {
  if (min_version > 1) return nullptr;
  if (name == BP_EXT_CPU_THREADS) return &kThreadsTable;
  return name == BP_EXT_MEMTYPES ? &kMemtypesTable : nullptr;
}

}  // namespace backplane_cpu
