// The C tables over the classes of plugin.hpp, and the entry point.
//
// Include this in one source file of the plugin and define the entry point there:
//   static constexpr PluginInfo kInfo{"org.example.thing", "1.0.0", &open_thing, nullptr};
//   extern "C" BP_EXPORT bp_proc bp_get_proc_address(const char* name) { return get_proc_address<kInfo>(name); }
// Every function validates its arguments, runs guarded, and throws nothing.
#pragma once

#include <string>
#include <string_view>

#include "backplane/abi/abi.h"
#include "backplane/sdk/device_table.hpp"
#include "backplane/sdk/plugin.hpp"
#include "backplane/sdk/stream_table.hpp"
#include "backplane/sdk/structs.hpp"

namespace backplane::sdk::detail {

inline void plugin_close(bp_plugin* plugin) {
  guard(nullptr, [&] { delete from_handle(plugin); });
}

inline uint32_t plugin_device_count(bp_plugin* plugin) {
  uint32_t count = 0;
  guard(nullptr, [&] { count = from_handle(plugin)->device_count(); });
  return count;
}

inline bp_device* plugin_device_at(bp_plugin* plugin, uint32_t index) {
  bp_device* device = nullptr;
  guard(nullptr, [&] {
    if (index < from_handle(plugin)->device_count()) device = to_handle<bp_device>(&from_handle(plugin)->device(index));
  });
  return device;
}

inline bp_code plugin_set_options(bp_plugin* plugin, const void* options, uint32_t count, uint32_t stride,
                                  bp_error* error) {
  return guard(error, [&] { from_handle(plugin)->set_options(options, count, stride); });
}

inline const void* plugin_extension(bp_plugin* plugin, const char* name, uint32_t min_version) {
  const void* table = nullptr;
  if (name != nullptr) guard(nullptr, [&] { table = from_handle(plugin)->extension(name, min_version); });
  return table;
}

inline constexpr bp_plugin_i kPluginTable{{sizeof(bp_plugin_i), BP_KIND_TABLE_PLUGIN},
                                          plugin_close,
                                          plugin_device_count,
                                          plugin_device_at,
                                          plugin_set_options,
                                          plugin_extension};

inline uint32_t build_flags() {
  uint32_t flags = 0;
#if defined(__has_feature)  // Clang
  if (__has_feature(address_sanitizer)) flags |= BP_BUILD_ASAN;
  if (__has_feature(thread_sanitizer)) flags |= BP_BUILD_TSAN;
  if (__has_feature(memory_sanitizer)) flags |= BP_BUILD_MSAN;
#endif
#if defined(__SANITIZE_ADDRESS__)  // GCC
  flags |= BP_BUILD_ASAN;
#endif
#if defined(__SANITIZE_THREAD__)
  flags |= BP_BUILD_TSAN;
#endif
#if !defined(NDEBUG)
  flags |= BP_BUILD_DEBUG;
#endif
  return flags;
}

inline std::string version_text(uint32_t version) {
  return std::to_string(BP_VERSION_MAJOR(version)) + "." + std::to_string(BP_VERSION_MINOR(version));
}

inline bp_code refuse_versions(const bp_hello& hello, bp_error* error) noexcept {
  return guard(error, [&] {
    throw Error(BP_E_INCOMPATIBLE, "host speaks ABI " + version_text(hello.abi_min) + " to " +
                                       version_text(hello.abi_max) + " and op sets " + std::to_string(hello.opset_min) +
                                       " to " + std::to_string(hello.opset_max) + "; plugin speaks ABI 1.0 to " +
                                       version_text(BP_ABI_VERSION) + " and op sets 1 to " +
                                       std::to_string(BP_OPSET_VERSION));
  });
}

template <const PluginInfo& kInfo>
bp_code negotiate(const bp_hello* hello, bp_hello_reply* reply, bp_error* error) {
  if (hello == nullptr || hello->kind != BP_KIND_HELLO || hello->size < sizeof(bp_hello) || reply == nullptr ||
      reply->kind != BP_KIND_HELLO_REPLY || reply->size < sizeof(bp_hello_reply))
    return set_error(error, BP_E_INVALID_ARG, "hello or reply is NULL, of a wrong kind or too short");
  const uint32_t abi = hello->abi_max < BP_ABI_VERSION ? hello->abi_max : BP_ABI_VERSION;
  const uint32_t opset = hello->opset_max < BP_OPSET_VERSION ? hello->opset_max : BP_OPSET_VERSION;
  if (hello->abi_min > hello->abi_max || hello->opset_min > hello->opset_max || abi < hello->abi_min ||
      BP_VERSION_MAJOR(abi) != BP_VERSION_MAJOR(BP_ABI_VERSION) || opset < hello->opset_min || opset < 1)
    return refuse_versions(*hello, error);
  reply->abi = abi;
  reply->abi_built = BP_ABI_VERSION;
  reply->opset = opset;
  reply->build = build_flags();
  reply->id = kInfo.id;
  reply->version = kInfo.version;
  return BP_OK;
}

template <const PluginInfo& kInfo>
bp_code probe(int32_t* score, bp_error* error) {
  return guard(error, [&] {
    require(score, "score");
    *score = kInfo.probe();
  });
}

template <const PluginInfo& kInfo>
bp_code open(const bp_open_info* info, bp_opened* opened, bp_error* error) {
  return guard(error, [&] {
    const bp_open_info local = read_input(info, BP_KIND_OPEN_INFO);
    require(local.host_i, "host_i");
    if (!BP_REACHES(local.host_i, bp_host_i, get_extension))
      throw Error(BP_E_INCOMPATIBLE, "the host's table is shorter than ABI 1.0");
    bp_opened result{};
    result.plugin_i = &kPluginTable;
    result.device_i = &kDeviceTable;
    result.buffer_i = &kBufferTable;
    result.stream_i = &kStreamTable;
    result.event_i = &kEventTable;
    result.program_i = &kProgramTable;
    std::unique_ptr<Plugin> plugin = kInfo.open(local, Host(local.host_i, local.host));
    result.plugin = to_handle<bp_plugin>(plugin.get());
    write_output(opened, BP_KIND_OPENED, result);
    plugin.release();
  });
}

}  // namespace backplane::sdk::detail

namespace backplane::sdk {

// The body of bp_get_proc_address for a plugin described by kInfo.
template <const PluginInfo& kInfo>
bp_proc get_proc_address(const char* name) {
  const std::string_view wanted = name != nullptr ? name : "";
  if (wanted == "bp_negotiate") return reinterpret_cast<bp_proc>(&detail::negotiate<kInfo>);
  if (wanted == "bp_probe" && kInfo.probe != nullptr) return reinterpret_cast<bp_proc>(&detail::probe<kInfo>);
  if (wanted == "bp_open.v1") return reinterpret_cast<bp_proc>(&detail::open<kInfo>);
  return nullptr;
}

}  // namespace backplane::sdk
