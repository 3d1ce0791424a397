// SessionMemory: what outlives a plan: arenas that plans share, states, constants on devices.
//
// Buffers are shared with the executors that use them, and freed with the last one.
// Thread safety: serialised by the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/graph.hpp"
#include "backplane/graph/host_tensor.hpp"
#include "backplane/runtime/device.hpp"
#include "backplane/scheduler/plan.hpp"

namespace backplane {

// A buffer that several devices may reach.
struct SharedBuffer {
  Buffer buffer;
  std::byte* address = nullptr;  // where host code finds the bytes, if it can
  std::mutex calls;              // write and read of one buffer are serialised by the caller
  std::vector<std::pair<Device*, std::unique_ptr<Buffer>>> imports;  // other devices' views of it; freed first

  // The buffer through which kernels of `device` reach the bytes. Errors: unimplemented.
  Result<bp_buffer*> handle_on(Device& device);
  Status write(uint64_t offset, std::span<const std::byte> bytes);
  Status read(uint64_t offset, std::span<std::byte> bytes);
};

using BufferRef = std::shared_ptr<SharedBuffer>;

// Allocates, and maps what can be mapped. At least one byte: a pool of empty tensors still needs an address.
Result<BufferRef> make_shared_buffer(Device& device, uint32_t memtype, uint64_t bytes, uint32_t usage);

class SessionMemory {
 public:
  // Buffers for the chunks of an arena: those there are, or new ones where they are too small. Those who still use the
  // old ones keep them. On an error everything is as it was.
  Result<std::vector<BufferRef>> arena(Device& device, const Pool& pool);
  // Whether `chunks` are what arena() gave last for the device.
  bool is_current_arena(const Device& device, const Pool& pool, std::span<const BufferRef> chunks) const;

  // Memory for a state on a device. States are known by name. Its contents are those of the state only after
  // activate_state. Errors: invalid_argument for one of other bytes than that of its name; resource_exhausted.
  Result<BufferRef> state(const Graph& graph, StorageId storage, Device& device);
  // Makes `buffer` the place of the state: what it holds elsewhere is copied there.
  Status activate_state(const Graph& graph, StorageId storage, const BufferRef& buffer);
  // The names of the states that are on a device.
  std::vector<std::string> states_on(const Device& device) const;

  // A constant on a device: borrowed in place where the device can read the application's memory, else copied to it
  // once for all plans.
  Result<BufferRef> constant(const Graph& graph, StorageId storage, Device& device);
  // Lets go of what no executor uses any more.
  void trim();

  uint64_t arena_growths() const { return arena_growths_; }

 private:
  struct StateMemory {
    uint64_t bytes;
    BufferRef current;
    std::vector<std::weak_ptr<SharedBuffer>> places;  // other plans may have it on other devices
  };
  struct ConstantMemory {
    std::shared_ptr<const void> keeper;  // so that the address is not given to other bytes
    BufferRef buffer;
  };
  using ArenaKey = std::pair<const Device*, uint32_t>;  // device, memory type
  using ConstantKey = std::pair<const std::byte*, const Device*>;

  std::map<ArenaKey, std::vector<BufferRef>> arenas_;
  std::map<std::string, StateMemory, std::less<>> states_;
  std::map<std::pair<ConstantKey, uint64_t>, ConstantMemory> constants_;  // with its bytes
  uint64_t arena_growths_ = 0;
};

}  // namespace backplane
