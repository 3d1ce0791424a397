// How devices reach memory that is not theirs: other devices' memory and the application's.
//
// Memory that the host can map is imported where the device allows it; everything else is copied.
// Thread safety: as Device.
#pragma once

#include <optional>

#include "backplane/base/status.hpp"
#include "backplane/graph/graph.hpp"
#include "backplane/runtime/device.hpp"

namespace backplane {

// The memory type that activations use.
inline constexpr uint32_t kComputeMemtype = 0;

// Whether the host reads and writes memory of a type where it is.
bool is_mappable(const Device& device, uint32_t memtype);

// Whether each copies from and to the other's memory by itself.
bool reach_each_other(const Device& a, const Device& b);

// BP_ACCESS_* bits that `reader` has to the default memory of `owner`, imports included; 0 if it must be copied.
uint32_t access_to(const Device& reader, const Device& owner);

// The largest buffer, in bytes, that a device surely takes of memory that is not its own; 0 = any.
uint64_t import_limit(const Device& device);

// The memory type under which `device` reads memory at `address` in place, if it does: default memory of `owner`, or
// the application's own if that is null.
std::optional<uint32_t> import_memtype(const Device& device, const void* address, const Device* owner);

// The bytes that a storage needs in the device's compute memory, padding included; at least those of the storage.
Result<uint64_t> storage_bytes(const Device& device, const Graph& graph, StorageId storage);

// Copies between buffers of any devices, through the host where neither side can be mapped.
Status copy_between(Buffer& source, uint64_t source_offset, Buffer& target, uint64_t target_offset, uint64_t bytes);

}  // namespace backplane
