#include "device.hpp"

#include <algorithm>
#include <cstring>

#include "fake_table.hpp"
#include "null_stream.hpp"
#include "stream.hpp"

namespace fake {

using backplane::sdk::Error;

Program::Program(Device& device, std::shared_ptr<const CompiledGraph> graph)
    : device_(device), live_(device.counters().live_programs), graph_(std::move(graph)) {}

void Program::update(const bp_graph& graph) {
  device_.call(CallKind::kCompile);
  if (!device_.options().update) backplane::sdk::unsupported("program update");
  if (!device_.options().null) graph_ = device_.prepare(graph, device_.options().refuse_compile);
}

Device::Device(Options options, uint32_t index, Shared& shared)
    : options_(std::move(options)),
      index_(index),
      shared_(shared),
      name_("fake" + std::to_string(index)),
      memory_(options_.memory_limit_bytes, options_.alignment, !options_.null),
      faults_(options_.faults) {}

bp_device_info Device::info() {
  bp_device_info info{};
  info.name = name_.c_str();
  info.description = options_.host_memory ? "simulated device in host memory" : "simulated device with own memory";
  info.type = options_.type;
  info.numa_node = BP_NONE;
  info.caps = BP_CAP_CANCEL | (options_.async ? BP_CAP_ASYNC : 0) | (options_.events ? BP_CAP_EVENTS : 0) |
              (options_.foreign >= ForeignAccess::kRead ? BP_CAP_IMPORT_HOST : 0) |
              (options_.peer_copy ? BP_CAP_PEER_COPY : 0) | (options_.programs ? BP_CAP_PROGRAMS : 0);
  info.memory_total = options_.memory_limit_bytes;
  info.memtype_count = 1;
  return info;
}

bp_memtype_info Device::memtype(uint32_t /*index*/) {
  bp_memtype_info info{};
  info.name = options_.host_memory ? "host" : "own";
  info.flags = options_.host_memory ? BP_MEM_HOST_VISIBLE | BP_MEM_COHERENT : BP_MEM_DEVICE;
  info.alignment = options_.alignment;
  info.max_bytes = options_.max_buffer_bytes;
  return info;
}

bp_memory_stats Device::memory() {
  require_alive();
  return memory_.stats();
}

uint32_t Device::foreign_access(const bp_foreign_memory& memory) {
  if (memory.handle_type != BP_HANDLE_HOST_POINTER || options_.foreign == ForeignAccess::kNone) return 0;
  uint32_t access = BP_ACCESS_COPY_FROM | BP_ACCESS_COPY_TO;
  if (memory.alignment < options_.alignment) return access;
  if (options_.foreign >= ForeignAccess::kRead) access |= BP_ACCESS_READ_IN_PLACE;
  if (options_.foreign >= ForeignAccess::kWrite) access |= BP_ACCESS_WRITE_IN_PLACE;
  return access;
}

std::string Device::refuse(const NodeView& node) const {
  const Kernel* kernel = find_kernel(node.op(), shared_.mix_op);
  if (kernel == nullptr) return std::string("no kernel for op ") + backplane::sdk::op_name(node.op());
  if (!options_.supports.has(kernel->name)) return "op is not in the option 'supports'";
  if (options_.deny.has(kernel->name)) return "op is in the option 'deny'";
  const uint64_t number = node.record().tag != 0 ? node.record().tag : node.index();
  if (options_.alternate && number % shared_.device_count != index_)
    return "the option 'supports' gives this node to another device";
  return kernel->refuse(node);
}

bp_node_answer Device::query(const bp_graph& graph, uint32_t index, std::string& reason) {
  const NodeView node(graph, index);
  ++counters_.queried_nodes;
  if (index == 0) ++counters_.queries;
  bp_node_answer answer{BP_VERDICT_NO, BP_NONE, 0};
  reason = refuse(node);
  if (!reason.empty()) return answer;
  const Kernel& kernel = *find_kernel(node.op(), shared_.mix_op);
  answer.verdict = BP_VERDICT_YES;
  if (options_.prefer.has(kernel.name)) answer.verdict = BP_VERDICT_PREFERRED;
  if (options_.slow.has(kernel.name)) {
    answer.verdict = BP_VERDICT_SLOW;
    reason = "op is in the option 'slow'";
  }
  if (options_.in_place && kernel.elementwise) answer.alias_mask = (1ull << std::min(node.input_count(), 8u)) - 1;
  return answer;
}

std::unique_ptr<backplane::sdk::Buffer> Device::create_buffer(const bp_buffer_desc& desc) {
  call(CallKind::kAllocate);
  const bool written = desc.host_ptr_use == BP_HOST_PTR_BORROW_WRITE;
  if (desc.host_ptr != nullptr && options_.foreign < (written ? ForeignAccess::kWrite : ForeignAccess::kRead))
    backplane::sdk::unsupported("import of host memory");
  if (options_.max_buffer_bytes != 0 && desc.bytes > options_.max_buffer_bytes)
    throw Error(BP_E_INVALID_ARG, "wanted a buffer of " + std::to_string(desc.bytes) + " bytes, at most " +
                                      std::to_string(options_.max_buffer_bytes) + " are possible");
  return std::make_unique<Buffer>(*this, desc);
}

std::unique_ptr<backplane::sdk::Stream> Device::create_stream(const bp_stream_desc& /*desc*/) {
  call(CallKind::kStream);
  if (options_.null) return std::make_unique<NullStream>(*this);
  return std::make_unique<Stream>(*this, index_ * uint64_t{1000} + streams_++);
}

std::unique_ptr<backplane::sdk::Event> Device::create_event() {
  call(CallKind::kEvent);
  if (!options_.events) backplane::sdk::unsupported("event_create");
  return std::make_unique<Event>(counters_.live_events);
}

std::unique_ptr<backplane::sdk::Program> Device::compile(const bp_graph& graph) {
  call(CallKind::kCompile);
  if (!options_.programs) backplane::sdk::unsupported("program_create");
  return std::make_unique<Program>(*this, options_.null ? nullptr : prepare(graph, options_.refuse_compile));
}

const void* Device::extension(std::string_view name, uint32_t min_version) {
  return name == BP_EXT_FAKE ? fake_table(min_version) : nullptr;
}

std::shared_ptr<const CompiledGraph> Device::prepare(const bp_graph& graph, const OpList& refused) const {
  auto compiled = std::make_shared<const CompiledGraph>(graph, shared_.mix_op);
  require_accepted(*compiled, refused);
  return compiled;
}

void Device::require_accepted(const CompiledGraph& graph, const OpList& refused) const {
  for (uint32_t node = 0; node < graph.graph().node_count; ++node)
    if (const char* op = graph.kernel(node).name; refused.has(op))
      throw Error(BP_E_UNSUPPORTED, name_ + " refuses op " + op + " although it took it when asked");
}

void Device::require_alive() const {
  if (lost_) throw Error(BP_E_DEVICE_LOST, name_ + " was lost");
}

void Device::call(CallKind kind) {
  require_alive();
  strike(faults_.next(kind));
}

void Device::strike(bp_code fault) {
  if (fault == BP_E_DEVICE_LOST && !lost_.exchange(true))
    host().device_event(backplane::sdk::to_handle<bp_device>(static_cast<backplane::sdk::Device*>(this)),
                        BP_DEVICE_EVENT_LOST);
  require_alive();
  if (fault != BP_OK && fault != kHang)
    throw Error(fault, name_ + " fails here because a fault was planned (such as the option 'fail_at_call')");
}

ConflictDetector::Claim Device::claim(std::vector<AccessRange> ranges, DescribePart describe) {
  if (!options_.detect_conflicts) return {};
  return detector().claim(std::move(ranges), std::move(describe));
}

}  // namespace fake
