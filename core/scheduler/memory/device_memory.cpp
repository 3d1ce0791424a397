#include "scheduler/memory/device_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace backplane {
namespace {

bp_foreign_memory describe(const Device& owner, const MemoryType& type) {
  bp_foreign_memory memory{};
  memory.head = {sizeof memory, BP_KIND_FOREIGN_MEMORY, nullptr};
  memory.plugin_id = owner.plugin_id().c_str();
  memory.memtype_name = type.name.c_str();
  std::copy(owner.uuid().begin(), owner.uuid().end(), memory.device_uuid);
  memory.memtype_flags = type.flags;
  memory.handle_type = BP_HANDLE_HOST_POINTER;
  memory.alignment = type.alignment;
  return memory;
}

bp_foreign_memory describe_application_memory(uint64_t alignment) {
  bp_foreign_memory memory{};
  memory.head = {sizeof memory, BP_KIND_FOREIGN_MEMORY, nullptr};
  memory.plugin_id = "";
  memory.memtype_name = "host";
  memory.memtype_flags = BP_MEM_HOST_VISIBLE | BP_MEM_COHERENT;
  memory.handle_type = BP_HANDLE_HOST_POINTER;
  memory.alignment = alignment;
  return memory;
}

}  // namespace

bool is_mappable(const Device& device, uint32_t memtype) {
  const MemoryType& type = device.memory_types()[memtype];
  return type.host_visible() && type.coherent();
}

bool reach_each_other(const Device& a, const Device& b) {
  return a.plugin_id() == b.plugin_id() && a.has(BP_CAP_PEER_COPY) && b.has(BP_CAP_PEER_COPY);
}

uint32_t access_to(const Device& reader, const Device& owner) {
  if (!reader.has(BP_CAP_IMPORT_HOST) || !is_mappable(owner, kComputeMemtype)) return 0;
  const Result<uint32_t> access = reader.foreign_access(describe(owner, owner.memory_types()[kComputeMemtype]));
  return access.ok() ? *access : 0;
}

uint64_t import_limit(const Device& device) {
  uint64_t limit = 0;
  for (const MemoryType& type : device.memory_types())
    if (type.max_bytes != 0 && (limit == 0 || type.max_bytes < limit)) limit = type.max_bytes;
  return limit;
}

std::optional<uint32_t> import_memtype(const Device& device, const void* address, const Device* owner) {
  if (!device.has(BP_CAP_IMPORT_HOST)) return std::nullopt;
  const auto value = reinterpret_cast<uintptr_t>(address);
  const uint64_t alignment = value == 0 ? 1 : value & (~value + 1);  // the largest power of two that divides it
  bp_foreign_memory memory = owner == nullptr ? describe_application_memory(alignment)
                                              : describe(*owner, owner->memory_types()[kComputeMemtype]);
  memory.alignment = alignment;  // of this memory: the owner may have borrowed it itself
  const Result<uint32_t> access = device.foreign_access(memory);
  if (!access.ok() || (*access & BP_ACCESS_READ_IN_PLACE) == 0) return std::nullopt;
  // A memory type of the host's kind if there is one; devices without read the application's memory all the same.
  std::optional<uint32_t> found;
  for (uint32_t index = 0; index < device.memory_types().size(); ++index) {
    const MemoryType& type = device.memory_types()[index];
    if (value % type.alignment == 0 &&
        (!found || (type.host_visible() && !device.memory_types()[*found].host_visible())))
      found = index;
  }
  return found;
}

// Asks about a graph of that one tensor: a plugin validates the graph that it is asked about, whole.
Result<uint64_t> storage_bytes(const Device& device, const Graph& graph, StorageId storage) {
  bp_graph single = graph.abi();
  single.tensors = &graph.tensor(graph.storage(storage).root);
  single.tensor_count = 1;
  single.node_count = single.attr_count = single.in_count = single.out_count = 0;
  BP_TRY_ASSIGN(const uint64_t bytes, device.tensor_bytes(kComputeMemtype, single, 0));
  return std::max(bytes, graph.storage(storage).bytes);
}

Status copy_between(Buffer& source, uint64_t source_offset, Buffer& target, uint64_t target_offset, uint64_t bytes) {
  if (bytes == 0) return {};
  if (is_mappable(source.device(), source.memtype())) {
    BP_TRY_ASSIGN(std::byte* const address, source.map(source_offset, bytes, BP_MAP_READ));
    const Status written = target.write(target_offset, {address, bytes});
    BP_TRY(source.unmap());
    return written;
  }
  if (is_mappable(target.device(), target.memtype())) {
    BP_TRY_ASSIGN(std::byte* const address, target.map(target_offset, bytes, BP_MAP_WRITE));
    const Status read = source.read(source_offset, {address, bytes});
    BP_TRY(target.unmap());
    return read;
  }
  std::vector<std::byte> staging(bytes);
  BP_TRY(source.read(source_offset, staging));
  return target.write(target_offset, staging);
}

}  // namespace backplane
