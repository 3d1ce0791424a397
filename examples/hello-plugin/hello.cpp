// A backend in one file: a device in host memory that negates dense f32 tensors.
// Thread safety: the device holds no state that changes; streams and buffers are used by one thread at a time.
#include <cstring>
#include <new>

#include "backplane/sdk/options.hpp"
#include "backplane/sdk/tables.hpp"

namespace hello {
namespace {

namespace sdk = backplane::sdk;

constexpr uint64_t kAlignment = 64;

// Memory of the device. Here it is host memory, so `map` can hand it out.
class Buffer final : public sdk::Buffer {
 public:
  explicit Buffer(uint64_t bytes)
      : bytes_(bytes), data_(static_cast<char*>(::operator new(bytes, std::align_val_t(kAlignment), std::nothrow))) {
    if (data_ == nullptr) throw sdk::Error(BP_E_DEVICE_MEMORY, "no " + std::to_string(bytes) + " bytes could be had");
  }
  ~Buffer() override { ::operator delete(data_, std::align_val_t(kAlignment)); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // The tables check every range against this before they call one of the functions below.
  uint64_t size_bytes() const override { return bytes_; }
  void* map(uint64_t offset, uint64_t, uint32_t) override { return data_ + offset; }
  void unmap() override {}
  void write(uint64_t offset, const void* source, uint64_t bytes) override {
    std::memcpy(data_ + offset, source, bytes);
  }
  void read(uint64_t offset, void* target, uint64_t bytes) override { std::memcpy(target, data_ + offset, bytes); }
  void fill(uint64_t offset, uint64_t bytes, uint8_t byte) override { std::memset(data_ + offset, byte, bytes); }

 private:
  uint64_t bytes_;
  char* data_;
};

// Whether a node can run here. A yes is a promise, so it asks for everything that run_node relies on.
bool can_run(const sdk::NodeView& node, std::string& reason) {
  if (node.op() != BP_OP_NEG || node.input_count() != 1 || node.output_count() != 1 || !node.has_input(0) ||
      !node.has_output(0) || node.unknown_attr({}) != nullptr) {
    reason = "only neg is implemented";
    return false;
  }
  const sdk::TensorView in = node.input(0), out = node.output(0);
  if (in.dtype() != BP_TYPE_F32 || out.dtype() != BP_TYPE_F32 || !in.dense() || !out.dense() ||
      in.elements() != out.elements()) {
    reason = "only dense f32 tensors of equal size are implemented";
    return false;
  }
  return true;
}

float* values_of(const sdk::TensorView& tensor) {
  const bp_tensor& record = tensor.record();
  const uint64_t bytes = static_cast<uint64_t>(tensor.elements()) * sizeof(float);
  auto* buffer = static_cast<Buffer*>(sdk::from_handle(record.buffer));
  if (buffer == nullptr || record.offset > buffer->size_bytes() || bytes > buffer->size_bytes() - record.offset)
    throw sdk::Error(BP_E_INVALID_ARG, "tensor " + std::to_string(tensor.index()) + " is unbound or leaves its buffer");
  return reinterpret_cast<float*>(static_cast<char*>(buffer->map(0, 0, 0)) + record.offset);
}

void run_node(const sdk::NodeView& node) {
  const float* in = values_of(node.input(0));
  float* out = values_of(node.output(0));
  for (int64_t i = 0; i < node.input(0).elements(); ++i) out[i] = -in[i];
}

// A stream that has done its work when a call returns: the simplest kind, and a legal one.
class Stream final : public sdk::Stream {
 public:
  void submit(const bp_submit_desc& work) override {
    if (work.graph == nullptr) sdk::unsupported("a program");
    const sdk::GraphView graph(*work.graph);
    for (uint32_t i = 0; i < graph.node_count(); ++i) {
      std::string reason;
      if (!can_run(graph.node(i), reason)) throw sdk::Error(BP_E_UNSUPPORTED, reason);
      run_node(graph.node(i));
    }
  }
  void copy(const bp_copy_desc& copy) override {
    const char* from = address(copy.source, copy.source_offset, copy.source_host);
    char* to = address(copy.target, copy.target_offset, copy.target_host);
    for (uint64_t row = 0; row < copy.rows; ++row)
      std::memcpy(to + row * copy.target_pitch_bytes, from + row * copy.source_pitch_bytes, copy.row_bytes);
  }
  void fill(sdk::Buffer& buffer, uint64_t offset, uint64_t bytes, uint8_t byte) override {
    buffer.fill(offset, bytes, byte);
  }
  bp_code synchronize(uint64_t, bp_error*) override { return BP_OK; }

 private:
  static char* address(bp_buffer* buffer, uint64_t offset, const void* host) {
    if (buffer == nullptr) return static_cast<char*>(const_cast<void*>(host));
    return static_cast<char*>(sdk::from_handle(buffer)->map(offset, 0, 0));
  }
};

class Device final : public sdk::Device {
 public:
  explicit Device(std::string greeting) : description_(std::move(greeting) + " from a plugin outside the tree") {}

  bp_device_info info() override {
    bp_device_info info{};
    info.name = "hello0";
    info.description = description_.c_str();
    info.type = BP_DEVICE_ACCEL;
    info.numa_node = BP_NONE;
    info.memtype_count = 1;
    return info;
  }
  bp_memtype_info memtype(uint32_t) override {
    bp_memtype_info info{};
    info.name = "host";
    info.flags = BP_MEM_HOST_VISIBLE | BP_MEM_COHERENT;
    info.alignment = kAlignment;
    return info;
  }
  bp_memory_stats memory() override { return {}; }  // no figure is known, so none is valid
  bp_node_answer query(const bp_graph& graph, uint32_t node, std::string& reason) override {
    return {can_run(sdk::NodeView(graph, node), reason) ? BP_VERDICT_YES : BP_VERDICT_NO, BP_NONE, 0};
  }
  std::unique_ptr<sdk::Buffer> create_buffer(const bp_buffer_desc& desc) override {
    if (desc.host_ptr != nullptr) sdk::unsupported("import of host memory");
    return std::make_unique<Buffer>(desc.bytes);
  }
  std::unique_ptr<sdk::Stream> create_stream(const bp_stream_desc&) override { return std::make_unique<Stream>(); }

 private:
  std::string description_;
};

class Plugin final : public sdk::Plugin {
 public:
  explicit Plugin(std::string greeting) : device_(std::move(greeting)) {}
  uint32_t device_count() const override { return 1; }
  sdk::Device& device(uint32_t) override { return device_; }

 private:
  Device device_;
};

std::unique_ptr<sdk::Plugin> open_hello(const bp_open_info& info, sdk::Host) {
  sdk::OptionReader options(info.options, info.option_count, info.option_stride);
  std::string greeting = options.text("greeting", "hello");
  options.finish();
  return std::make_unique<Plugin>(std::move(greeting));
}

constexpr sdk::PluginInfo kInfo{"org.example.hello", "1.0.0", &open_hello, nullptr};

}  // namespace
}  // namespace hello

extern "C" BP_EXPORT bp_proc BP_CALL bp_get_proc_address(const char* name) {
  return backplane::sdk::get_proc_address<hello::kInfo>(name);
}
