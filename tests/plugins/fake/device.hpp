// One fake device. Thread safety: any thread.
#pragma once

#include <atomic>

#include "compiled_graph.hpp"
#include "memory.hpp"

namespace fake {

enum class Fault { kNone, kFail, kLose };

class Program final : public backplane::sdk::Program {
 public:
  explicit Program(std::shared_ptr<const CompiledGraph> graph) : graph_(std::move(graph)) {}
  std::shared_ptr<const CompiledGraph> graph() const { return graph_; }

 private:
  std::shared_ptr<const CompiledGraph> graph_;
};

class Device final : public backplane::sdk::Device {
 public:
  Device(const Options& options, uint32_t index, backplane::sdk::Host host, uint32_t mix_op);

  bp_device_info info() override;
  bp_memtype_info memtype(uint32_t index) override;
  bp_memory_stats memory() override;
  uint32_t foreign_access(const bp_foreign_memory& memory) override;
  bp_node_answer query(const bp_graph& graph, uint32_t node, std::string& reason) override;
  std::unique_ptr<backplane::sdk::Buffer> create_buffer(const bp_buffer_desc& desc) override;
  std::unique_ptr<backplane::sdk::Stream> create_stream(const bp_stream_desc& desc) override;
  std::unique_ptr<backplane::sdk::Event> create_event() override;
  std::unique_ptr<backplane::sdk::Program> compile(const bp_graph& graph) override;

  const Options& options() const { return options_; }
  const backplane::sdk::Host& host() const { return host_; }
  uint32_t mix_op() const { return mix_op_; }
  std::shared_ptr<const CompiledGraph> program(backplane::sdk::Program& program) const;

  // Throws BP_E_DEVICE_LOST once the device is gone.
  void require_alive() const;
  // Counts a submission and says what is to befall it.
  Fault next_fault();
  // Carries a fault out: throws, and for kLose the device stays lost.
  void strike(Fault fault);

 private:
  std::string refuse(const NodeView& node) const;

  const Options options_;
  const uint32_t index_;
  const backplane::sdk::Host host_;
  const uint32_t mix_op_;
  const std::string name_;
  Memory memory_;
  std::atomic<uint64_t> submissions_{0}, streams_{0};
  std::atomic<bool> lost_{false};
};

}  // namespace fake
