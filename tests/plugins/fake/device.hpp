// One fake device. Thread safety: any thread.
#pragma once

#include <atomic>

#include "buffer.hpp"
#include "compiled_graph.hpp"
#include "options.hpp"

namespace fake {

// A compiled graph that updates replace. A null device's program has none.
class Program final : public backplane::sdk::Program {
 public:
  Program(Device& device, std::shared_ptr<const CompiledGraph> graph);
  void update(const bp_graph& graph) override;
  const std::shared_ptr<const CompiledGraph>& graph() const { return graph_; }

 private:
  Device& device_;
  const Live live_;
  std::shared_ptr<const CompiledGraph> graph_;
};

// What the devices of one plugin share.
struct Shared {
  backplane::sdk::Host host;
  uint32_t mix_op;
  uint32_t device_count;
  ConflictDetector detector;
};

class Device final : public backplane::sdk::Device {
 public:
  Device(Options options, uint32_t index, Shared& shared);

  bp_device_info info() override;
  bp_memtype_info memtype(uint32_t index) override;
  bp_memory_stats memory() override;
  uint32_t foreign_access(const bp_foreign_memory& memory) override;
  bp_node_answer query(const bp_graph& graph, uint32_t node, std::string& reason) override;
  std::unique_ptr<backplane::sdk::Buffer> create_buffer(const bp_buffer_desc& desc) override;
  std::unique_ptr<backplane::sdk::Stream> create_stream(const bp_stream_desc& desc) override;
  std::unique_ptr<backplane::sdk::Event> create_event() override;
  std::unique_ptr<backplane::sdk::Program> compile(const bp_graph& graph) override;
  const void* extension(std::string_view name, uint32_t min_version) override;

  const Options& options() const { return options_; }
  const std::string& name() const { return name_; }
  const backplane::sdk::Host& host() const { return shared_.host; }
  Memory& memory_pool() { return memory_; }
  Counters& counters() { return counters_; }
  Faults& faults() { return faults_; }
  ConflictDetector& detector() { return shared_.detector; }

  // Makes a graph ready to run. Throws BP_E_UNSUPPORTED, also for an op in `refused`.
  std::shared_ptr<const CompiledGraph> prepare(const bp_graph& graph, const OpList& refused) const;
  // Throws BP_E_UNSUPPORTED if the graph has an op of the option `refuse_submit`.
  void require_accepted(const CompiledGraph& graph, const OpList& refused) const;
  // Throws BP_E_DEVICE_LOST once the device is gone.
  void require_alive() const;
  // Counts a call that ends before it returns, and carries out what is to befall it.
  void call(CallKind kind);
  // Carries a fault out: throws it; BP_E_DEVICE_LOST stays.
  void strike(bp_code fault);
  // An empty claim unless conflicts are looked for.
  ConflictDetector::Claim claim(std::vector<AccessRange> ranges, DescribePart describe);

 private:
  std::string refuse(const NodeView& node) const;

  const Options options_;
  const uint32_t index_;
  Shared& shared_;
  const std::string name_;
  Memory memory_;
  Counters counters_;
  Faults faults_;
  std::atomic<uint64_t> streams_{0};
  std::atomic<bool> lost_{false};
};

}  // namespace fake
