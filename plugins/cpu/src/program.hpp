// CpuProgram: a graph compiled to kernels, run as one gang of workers.
//
// Steps run in the graph's order. A step that only one worker is worth waking for joins its neighbours of the same
// kind in one stage, so a chain of small nodes costs no barriers; every other step is a stage of its own.
// Thread safety: `run` locks; two submissions of one program run one after the other.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backplane/sdk/plugin.hpp"
#include "kernels/kernel.hpp"
#include "src/buffer.hpp"

namespace backplane_cpu {

class Barrier;

// Tells whether a submission has to stop; polled by one worker between nodes.
class CancelCheck {
 public:
  virtual ~CancelCheck() = default;
  virtual bool cancelled() const = 0;
};

class CpuProgram final : public backplane::sdk::Program {
 public:
  // Compiles a checked graph and keeps nothing of it. Throws BP_E_UNSUPPORTED naming the node that has no kernel.
  // Scratch comes from `memory`, which outlives the program.
  CpuProgram(const bp_graph& graph, Memory& memory);

  // Where each tensor of the graph lives: the buffer and offset that a submission gives, or a null buffer.
  struct Place {
    const HostBuffer* buffer = nullptr;
    uint64_t offset = 0;
  };
  // The places that a bound graph gives, or that bindings give; one per tensor. Throw BP_E_INVALID_ARG.
  static std::vector<Place> places_of(const bp_graph& graph);
  std::vector<Place> places_of(const bp_binding* bindings, uint32_t count) const;

  // Runs on at most `threads` workers of the host's pool. Throws BP_E_INVALID_ARG for a tensor that is unbound or
  // does not fit its buffer, BP_E_DATA naming the node, BP_E_CANCELLED, BP_E_DEVICE_MEMORY.
  void run(const std::vector<Place>& places, const backplane::sdk::Host& host, uint32_t threads,
           const CancelCheck& cancel);

 private:
  struct Tensor {
    uint32_t view_of;
    uint64_t offset;     // of a view, from view_of's memory
    uint64_t extent;     // bytes from the first to behind the last element; 0 = no elements
    uint64_t alignment;  // of its address; that of blocks is 1
    bool read = false, written = false;
  };
  struct Step {
    std::unique_ptr<Kernel> kernel;
    std::string name;  // for errors
    std::vector<uint32_t> inputs, outputs;
    std::vector<std::byte*> input_addresses, output_addresses;  // of the running submission
  };
  struct Stage {
    uint32_t first, last;  // steps
    uint32_t workers;      // worth waking; stages of one worker may have several steps
  };
  struct Gang;

  void add_tensor(const bp_graph& graph, uint32_t index);
  void add_step(const bp_graph& graph, uint32_t node);
  void bind(const std::vector<Place>& places);
  std::byte* address(const std::vector<Place>& places, uint32_t tensor) const;
  void reserve_scratch(uint32_t workers);
  void run_gang(const backplane::sdk::Host& host, Gang& gang);
  void run_worker(Gang& gang, uint32_t worker) const;
  void run_stage(Gang& gang, uint32_t stage, uint32_t worker) const;
  void run_alone(Gang& gang, uint32_t stage) const;
  RunArgs arguments(Gang& gang, uint32_t stage, const Step& step, uint32_t worker, uint32_t workers) const;
  bool poll(Gang& gang, uint32_t stage, uint32_t step) const;

  std::vector<Tensor> tensors_;
  std::vector<Step> steps_;
  std::vector<Stage> stages_;
  uint32_t widest_ = 1;  // workers of the widest stage
  std::mutex mutex_;
  Memory& memory_;
  std::unique_ptr<HostBuffer> scratch_;
  uint32_t scratch_workers_ = 0;
};

}  // namespace backplane_cpu
