#include "plugin.hpp"

#include <algorithm>
#include <filesystem>

#include "backplane/base/text.hpp"
#include "plugin_call.hpp"
#include "plugin_options.hpp"

namespace backplane {
namespace {

constexpr uint32_t kOpsetMin = 1;
constexpr uint32_t kMaxDevices = 4096;  // beyond this a count is garbage

constexpr uint32_t build_bits() {
  uint32_t bits = 0;
#if defined(__SANITIZE_ADDRESS__)
  bits |= BP_BUILD_ASAN;
#endif
#if defined(__SANITIZE_THREAD__)
  bits |= BP_BUILD_TSAN;
#endif
#if !defined(NDEBUG)
  bits |= BP_BUILD_DEBUG;
#endif
  return bits;
}

// The same failure under an id of the loader's; an exception keeps its own.
Status with_id(const Status& status, std::string_view id) {
  return status.ok() || status.id() == "plugin.threw" ? status : Status(status.code(), status.message(), id);
}

bool has_abi_code(const Status& status, std::string_view code) { return status.id() == cat("abi.", code); }

}  // namespace

Result<std::unique_ptr<Plugin>> Plugin::load(const PluginSource& source, LoadStage* stage) {
  *stage = LoadStage::dlopen;
  BP_TRY_ASSIGN(Library library, Library::load(source.library_path, source.library));
  std::unique_ptr<Plugin> plugin(new Plugin(std::move(library)));
  *stage = LoadStage::symbol;
  BP_TRY_ASSIGN(plugin->entry_, plugin->library_.entry_point(source.manifest.entry_point));
  *stage = LoadStage::negotiate;
  BP_TRY(plugin->negotiate(source));
  *stage = LoadStage::probe;
  BP_TRY(plugin->probe());
  *stage = LoadStage::open;
  BP_TRY(plugin->open(source));
  *stage = LoadStage::enumerate;
  BP_TRY(plugin->enumerate());
  *stage = LoadStage::active;
  return plugin;
}

Plugin::~Plugin() {
  if (!open_) return;
  const Status status = guard_plugin("close", [this] {
    tables().plugin_i->close(tables().plugin);
    return Status();
  });
  static_cast<void>(status);  // nobody is left to tell
}

bp_proc Plugin::function(const char* name) const {
  bp_proc found = nullptr;
  const Status status = guard_plugin(BP_ENTRY_POINT, [&] {
    found = entry_(name);
    return Status();
  });
  return status.ok() ? found : nullptr;
}

Status Plugin::negotiate(const PluginSource& source) {
  const auto negotiate_fn = reinterpret_cast<bp_negotiate_fn>(function("bp_negotiate"));
  if (negotiate_fn == nullptr)
    return failed_precondition(cat(source.manifest.entry_point, " knows no 'bp_negotiate'"), "symbol.missing-function");
  const Manifest& manifest = source.manifest;
  const bp_hello hello = {sizeof hello,
                          BP_KIND_HELLO,
                          BP_ABI_VERSION,
                          BP_ABI_VERSION,
                          kOpsetMin,
                          BP_OPSET_VERSION,
                          build_bits(),
                          0,
                          source.host_name.c_str()};
  bp_hello_reply reply = {};
  reply.size = sizeof reply;
  reply.kind = BP_KIND_HELLO_REPLY;
  const Status status =
      call_plugin("bp_negotiate", [&](bp_error* error) { return negotiate_fn(&hello, &reply, error); });
  if (!status.ok())
    return with_id(status, has_abi_code(status, "e_incompatible") ? "negotiate.incompatible" : "negotiate.failed");

  const bool fits = reply.size == sizeof reply && reply.kind == BP_KIND_HELLO_REPLY && reply.abi == BP_ABI_VERSION &&
                    reply.opset >= kOpsetMin && reply.opset <= BP_OPSET_VERSION;
  if (!fits || reply.id == nullptr || reply.version == nullptr)
    return failed_precondition(cat("bp_negotiate agreed to ABI ", abi_text(reply.abi), " and op set ", reply.opset,
                                   "; offered were ABI ", abi_text(BP_ABI_VERSION), " and op sets ", kOpsetMin, " to ",
                                   BP_OPSET_VERSION, reply.id && reply.version ? "" : "; it gave no id or version"),
                               "negotiate.bad-reply");
  if (reply.id != manifest.id)
    return failed_precondition(cat("the library is '", reply.id, "', its manifest says '", manifest.id, "'"),
                               "negotiate.id-mismatch");
  id_ = reply.id;
  version_ = reply.version;
  abi_ = reply.abi;
  opset_ = reply.opset;
  return {};
}

Status Plugin::probe() {
  const auto probe_fn = reinterpret_cast<bp_probe_fn>(function("bp_probe"));
  if (probe_fn == nullptr) return {};
  AbiError reason;
  int32_t score = 0;
  bp_code code = BP_OK;
  BP_TRY(guard_plugin("bp_probe", [&] {
    code = probe_fn(&score, reason);
    return Status();
  }));
  if (code >= 0 && score > 0) return {};
  const bool absent = code >= 0 || code == BP_E_NO_HARDWARE;
  return with_id(reason.status(code >= 0 ? BP_E_NO_HARDWARE : code, "bp_probe"),
                 absent ? "probe.no-hardware" : "probe.failed");
}

Status Plugin::open(const PluginSource& source) {
  const auto open_fn = reinterpret_cast<bp_open_fn>(function("bp_open.v1"));
  if (open_fn == nullptr)
    return failed_precondition(cat(source.manifest.entry_point, " knows no 'bp_open.v1'"), "symbol.missing-function");
  BP_TRY_ASSIGN(const PluginOptions options, PluginOptions::merge(source.manifest.options, source.options));
  const std::string folder = std::filesystem::path(source.library_path).parent_path().string();

  bp_open_info info = {};
  info.head = {sizeof info, BP_KIND_OPEN_INFO, nullptr};
  info.abi = abi_;
  info.opset = opset_;
  info.host_i = source.host.table();
  info.host = source.host.add_plugin(id_);
  info.options = options.list().data();
  info.option_count = static_cast<uint32_t>(options.list().size());
  info.option_stride = sizeof(bp_option);
  info.library_dir = folder.c_str();

  bp_opened opened = {};
  opened.head = {sizeof opened, BP_KIND_OPENED, nullptr};
  const Status status = call_plugin("bp_open.v1", [&](bp_error* error) { return open_fn(&info, &opened, error); });
  if (!status.ok()) return with_id(status, has_abi_code(status, "e_no_hardware") ? "open.no-hardware" : "open.failed");
  return adopt(opened);
}

// Checks what open returned. An open plugin that is not used must be closed, if its table allows even that.
Status Plugin::adopt(const bp_opened& opened) {
  if (opened.plugin == nullptr || opened.head.kind != BP_KIND_OPENED)
    return failed_precondition("bp_open.v1 succeeded without a plugin", "open.bad-reply");
  const Status status = tables_.adopt(opened);
  open_ = status.ok();
  const bp_plugin_i* table = opened.plugin_i;
  if (open_ || table == nullptr || table->head.kind != BP_KIND_TABLE_PLUGIN || !BP_HAS_FN(table, bp_plugin_i, close))
    return status;
  const Status closed = guard_plugin("close", [&] {
    table->close(opened.plugin);
    return Status();
  });
  static_cast<void>(closed);  // the first failure is the one to tell
  return status;
}

Status Plugin::enumerate() {
  return guard_plugin("device_at", [this]() -> Status {
    const bp_plugin_i& table = *tables().plugin_i;
    const uint32_t count = table.device_count(tables().plugin);
    if (count > kMaxDevices)
      return failed_precondition(cat("device_count says ", count, "; at most ", kMaxDevices, " are possible"),
                                 "enumerate.bad-device");
    for (uint32_t i = 0; i < count; ++i) {
      bp_device* device = table.device_at(tables().plugin, i);
      if (device == nullptr || std::find(devices_.begin(), devices_.end(), device) != devices_.end())
        return failed_precondition(
            cat("device_at gives ", device ? "the same device twice" : "NULL", " for device ", i, " of ", count),
            "enumerate.bad-device");
      devices_.push_back(device);
    }
    return {};
  });
}

}  // namespace backplane
