#include "device.hpp"

#include <algorithm>
#include <cstring>

#include "stream.hpp"

namespace fake {

using backplane::sdk::Error;

Device::Device(const Options& options, uint32_t index, backplane::sdk::Host host, uint32_t mix_op)
    : options_(options),
      index_(index),
      host_(host),
      mix_op_(mix_op),
      name_("fake" + std::to_string(index)),
      memory_(options.memory_limit_bytes, options.alignment) {}

bp_device_info Device::info() {
  bp_device_info info{};
  info.name = name_.c_str();
  info.description = options_.host_memory ? "simulated device in host memory" : "simulated device with own memory";
  info.type = options_.type;
  info.numa_node = BP_NONE;
  info.caps = BP_CAP_CANCEL | (options_.async ? BP_CAP_ASYNC : 0) | (options_.events ? BP_CAP_EVENTS : 0) |
              (options_.host_memory ? BP_CAP_IMPORT_HOST : 0) | (options_.peer_copy ? BP_CAP_PEER_COPY : 0) |
              (options_.programs ? BP_CAP_PROGRAMS : 0);
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
  if (memory.handle_type != BP_HANDLE_HOST_POINTER) return 0;
  const uint32_t copies = BP_ACCESS_COPY_FROM | BP_ACCESS_COPY_TO;
  const bool in_place = options_.host_memory && memory.alignment >= options_.alignment;
  return in_place ? copies | BP_ACCESS_READ_IN_PLACE | BP_ACCESS_WRITE_IN_PLACE : copies;
}

std::string Device::refuse(const NodeView& node) const {
  const Kernel* kernel = find_kernel(node.op(), mix_op_);
  if (kernel == nullptr) return std::string("no kernel for op ") + backplane::sdk::op_name(node.op());
  const auto lists = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), kernel->name) != names.end();
  };
  if (!options_.supports.empty() && !lists(options_.supports)) return "op is not in the option 'supports'";
  if (lists(options_.deny)) return "op is in the option 'deny'";
  const uint64_t number = node.record().tag != 0 ? node.record().tag : node.index();
  if (options_.alternate && number % options_.devices != index_)
    return "the option 'supports' gives this node to another device";
  return kernel->refuse(node);
}

bp_node_answer Device::query(const bp_graph& graph, uint32_t index, std::string& reason) {
  const NodeView node(graph, index);
  bp_node_answer answer{BP_VERDICT_NO, BP_NONE, 0};
  reason = refuse(node);
  if (!reason.empty()) return answer;
  answer.verdict = BP_VERDICT_YES;
  if (find_kernel(node.op(), mix_op_)->elementwise) answer.alias_mask = (1ull << std::min(node.input_count(), 8u)) - 1;
  return answer;
}

std::unique_ptr<backplane::sdk::Buffer> Device::create_buffer(const bp_buffer_desc& desc) {
  require_alive();
  if (desc.host_ptr != nullptr && !options_.host_memory) backplane::sdk::unsupported("import of host memory");
  if (options_.max_buffer_bytes != 0 && desc.bytes > options_.max_buffer_bytes)
    throw Error(BP_E_INVALID_ARG, "wanted a buffer of " + std::to_string(desc.bytes) + " bytes, at most " +
                                      std::to_string(options_.max_buffer_bytes) + " are possible");
  return std::make_unique<Buffer>(memory_, this, options_.host_memory, desc);
}

std::unique_ptr<backplane::sdk::Stream> Device::create_stream(const bp_stream_desc& /*desc*/) {
  require_alive();
  return std::make_unique<Stream>(*this, index_ * uint64_t{1000} + streams_++);
}

std::unique_ptr<backplane::sdk::Event> Device::create_event() {
  if (!options_.events) backplane::sdk::unsupported("event_create");
  return std::make_unique<Event>();
}

std::unique_ptr<backplane::sdk::Program> Device::compile(const bp_graph& graph) {
  require_alive();
  if (!options_.programs) backplane::sdk::unsupported("program_create");
  return std::make_unique<Program>(std::make_shared<CompiledGraph>(graph, mix_op_));
}

std::shared_ptr<const CompiledGraph> Device::program(backplane::sdk::Program& program) const {
  return static_cast<Program&>(program).graph();
}

void Device::require_alive() const {
  if (lost_) throw Error(BP_E_DEVICE_LOST, name_ + " was lost");
}

Fault Device::next_fault() {
  const uint64_t call = ++submissions_;
  if (options_.fault_device >= 0 && options_.fault_device != int64_t{index_}) return Fault::kNone;
  if (call == options_.lose_at_call) return Fault::kLose;
  return call == options_.fail_at_call ? Fault::kFail : Fault::kNone;
}

void Device::strike(Fault fault) {
  if (fault == Fault::kLose && !lost_.exchange(true))
    host_.device_event(backplane::sdk::to_handle<bp_device>(static_cast<backplane::sdk::Device*>(this)),
                       BP_DEVICE_EVENT_LOST);
  require_alive();
  if (fault == Fault::kFail)
    throw Error(options_.fail_code, name_ + " fails here because the option 'fail_at_call' says so");
}

}  // namespace fake
