#include "scheduler/memory/session_memory.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"
#include "scheduler/memory/device_memory.hpp"

namespace backplane {
namespace {

// Copies piece by piece: what is copied need not stay in the process's memory too, not even while the rest is.
Status write_evicting(Buffer& buffer, const HostTensor& value) {
  constexpr size_t kPieceBytes = size_t{16} << 20;
  const std::span<const std::byte> bytes = value.bytes();
  const size_t piece = value.file() ? kPieceBytes : std::max<size_t>(bytes.size(), 1);
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const std::span<const std::byte> part = bytes.subspan(at, std::min(piece, bytes.size() - at));
    BP_TRY(buffer.write(at, part));
    if (value.file()) value.file()->evict(part);
  }
  return {};
}

}  // namespace

Result<bp_buffer*> SharedBuffer::handle_on(Device& device) {
  if (&device == &buffer.device()) return buffer.handle();
  for (const auto& [importer, view] : imports)
    if (importer == &device) return view->handle();
  const std::optional<uint32_t> memtype =
      address == nullptr ? std::nullopt : import_memtype(device, address, &buffer.device());
  if (!memtype)
    return unimplemented(
        cat(device.name(), " said it reads memory of ", buffer.device().name(), " in place, and does not take it"));
  // Some devices read memory of others in place and do not write it.
  const bool writable = (access_to(device, buffer.device()) & BP_ACCESS_WRITE_IN_PLACE) != 0;
  BP_TRY_ASSIGN(Buffer view, device.import(*memtype, address, buffer.bytes(), BP_USAGE_COMPUTE, writable));
  imports.emplace_back(&device, std::make_unique<Buffer>(std::move(view)));
  return imports.back().second->handle();
}

Status SharedBuffer::write(uint64_t offset, std::span<const std::byte> bytes) {
  const std::lock_guard lock(calls);
  return buffer.write(offset, bytes);
}

Status SharedBuffer::read(uint64_t offset, std::span<std::byte> bytes) {
  const std::lock_guard lock(calls);
  return buffer.read(offset, bytes);
}

Result<BufferRef> make_shared_buffer(Device& device, uint32_t memtype, uint64_t bytes, uint32_t usage) {
  auto shared = std::make_shared<SharedBuffer>();
  BP_TRY_ASSIGN(shared->buffer, device.allocate(memtype, std::max<uint64_t>(bytes, 1), usage));
  const MemoryType& type = device.memory_types()[memtype];
  // The address of coherent memory stays valid until the buffer is freed.
  if (type.host_visible() && type.coherent()) {
    BP_TRY_ASSIGN(shared->address, shared->buffer.map(0, shared->buffer.bytes(), BP_MAP_READ | BP_MAP_WRITE));
  }
  return shared;
}

Result<std::vector<BufferRef>> SessionMemory::arena(Device& device, const Pool& pool) {
  std::vector<BufferRef>& current = arenas_[{&device, pool.memtype}];
  std::vector<BufferRef> chunks = current;
  chunks.resize(std::max(chunks.size(), pool.chunk_bytes.size()));
  uint64_t growths = 0;
  for (size_t i = 0; i < pool.chunk_bytes.size(); ++i) {
    if (chunks[i] != nullptr && chunks[i]->buffer.bytes() >= pool.chunk_bytes[i]) continue;
    Result<BufferRef> made = make_shared_buffer(device, pool.memtype, pool.chunk_bytes[i], BP_USAGE_COMPUTE);
    if (!made.ok())
      return made.status().with_context(
          cat("allocating ", bytes_text(pool.chunk_bytes[i]), " for activations on ", device.name()));
    chunks[i] = std::move(made).value();
    ++growths;
  }
  current = chunks;
  arena_growths_ += growths;
  chunks.resize(pool.chunk_bytes.size());
  return chunks;
}

bool SessionMemory::is_current_arena(const Device& device, const Pool& pool, std::span<const BufferRef> chunks) const {
  const auto found = arenas_.find({&device, pool.memtype});
  return found != arenas_.end() && found->second.size() >= chunks.size() &&
         std::equal(chunks.begin(), chunks.end(), found->second.begin());
}

Result<BufferRef> SessionMemory::state(const Graph& graph, StorageId storage, Device& device) {
  const TensorId root = graph.storage(storage).root;
  const uint64_t wanted = graph.storage(storage).bytes;
  const auto found = states_.find(graph.tensor_name(root));
  if (found != states_.end() && found->second.bytes != wanted)
    return invalid_argument(cat("state ", graph.tensor_text(root), " has ", wanted,
                                " bytes, and the one of that name in this session has ", found->second.bytes),
                            "session.state-size");
  if (found != states_.end())
    for (const auto& place : found->second.places)
      if (BufferRef buffer = place.lock(); buffer != nullptr && &buffer->buffer.device() == &device) return buffer;
  BP_TRY_ASSIGN(const uint64_t bytes, storage_bytes(device, graph, storage));
  Result<BufferRef> made = make_shared_buffer(device, kComputeMemtype, bytes, BP_USAGE_COMPUTE);
  if (!made.ok())
    return made.status().with_context(cat("placing state ", graph.tensor_text(root), " on ", device.name()));
  BP_TRY((*made)->buffer.fill(0, (*made)->buffer.bytes(), 0));
  return made;
}

Status SessionMemory::activate_state(const Graph& graph, StorageId storage, const BufferRef& buffer) {
  const TensorId root = graph.storage(storage).root;
  const auto [entry, fresh] =
      states_.try_emplace(std::string(graph.tensor_name(root)), StateMemory{graph.storage(storage).bytes, buffer, {}});
  StateMemory& state = entry->second;
  if (!fresh && state.current != buffer) {
    BP_TRY(copy_between(state.current->buffer, 0, buffer->buffer, 0, state.bytes)
               .with_context(cat("moving state ", graph.tensor_text(root), " to ", buffer->buffer.device().name())));
    state.current = buffer;
  }
  std::erase_if(state.places, [&](const auto& place) { return place.expired() || place.lock() == buffer; });
  state.places.emplace_back(buffer);
  return {};
}

std::vector<std::string> SessionMemory::states_on(const Device& device) const {
  std::vector<std::string> names;
  for (const auto& [name, state] : states_)
    if (&state.current->buffer.device() == &device) names.push_back(name);
  return names;
}

Result<BufferRef> SessionMemory::constant(const Graph& graph, StorageId storage, Device& device) {
  const HostTensor& value = graph.constant(storage);
  const std::byte* const address = value.bytes().data();
  const std::pair<ConstantKey, uint64_t> key{{address, &device}, value.bytes().size()};
  if (const auto found = constants_.find(key); found != constants_.end()) return found->second.buffer;
  const bool aligned = reinterpret_cast<uintptr_t>(address) % type_layout(value.dtype()).block_bytes == 0;
  BufferRef made;
  if (const auto memtype = import_memtype(device, address, /*owner=*/nullptr);
      memtype && (aligned || !is_plain(value.dtype())) && !value.bytes().empty()) {
    made = std::make_shared<SharedBuffer>();
    BP_TRY_ASSIGN(made->buffer,
                  device.import(*memtype, address, value.bytes().size(), BP_USAGE_WEIGHTS, /*writable=*/false));
    made->address = const_cast<std::byte*>(address);  // only read
  } else {
    BP_TRY_ASSIGN(const uint64_t bytes, storage_bytes(device, graph, storage));
    Result<BufferRef> allocated = make_shared_buffer(device, kComputeMemtype, bytes, BP_USAGE_WEIGHTS);
    if (!allocated.ok())
      return allocated.status().with_context(
          cat("placing ", graph.tensor_text(graph.storage(storage).root), " on ", device.name()));
    made = std::move(allocated).value();
    BP_TRY(write_evicting(made->buffer, value));
  }
  constants_.insert_or_assign(key, ConstantMemory{value.keeper(), made});
  return made;
}

void SessionMemory::trim() {
  std::erase_if(constants_, [](const auto& entry) { return entry.second.buffer.use_count() == 1; });
}

}  // namespace backplane
