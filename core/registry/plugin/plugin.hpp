// Plugin: one opened plugin: its library, its tables and its devices' handles.
//
// Destroying it closes the plugin; everything made on its devices is gone by then. Thread safety: const functions
// from any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backplane/abi/plugin.h"
#include "backplane/base/json.hpp"
#include "backplane/base/status.hpp"
#include "backplane/registry/load_report.hpp"
#include "host_services.hpp"
#include "library.hpp"
#include "plugin_tables.hpp"
#include "registry/manifest/manifest.hpp"

namespace backplane {

// What a plugin is loaded from. Everything is borrowed for the call but `host`, which outlives the plugin.
struct PluginSource {
  const Manifest& manifest;
  std::string library_path;  // absolute, links resolved
  FileIdentity library;
  const Json& options;  // over the manifest's defaults; an object
  std::string host_name;
  HostServices& host;
};

class Plugin {
 public:
  // Maps the library, agrees on versions, probes, opens and lists the devices. *stage says how far it got. Errors: the
  // ids of Library, PluginOptions and PluginTables, and "symbol.missing-function", "negotiate.incompatible",
  // "negotiate.failed", "negotiate.bad-reply", "negotiate.id-mismatch", "probe.no-hardware", "probe.failed",
  // "open.no-hardware", "open.failed", "open.bad-reply", "enumerate.bad-device", "plugin.threw".
  static Result<std::unique_ptr<Plugin>> load(const PluginSource& source, LoadStage* stage);
  ~Plugin();
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  const std::string& id() const { return id_; }
  const std::string& version() const { return version_; }  // as the plugin says itself
  uint32_t abi() const { return abi_; }                    // as agreed
  const std::string& loaded_path() const { return library_.path(); }
  const bp_opened& tables() const { return tables_.opened(); }
  const std::vector<bp_device*>& devices() const { return devices_; }

 private:
  explicit Plugin(Library library) : library_(std::move(library)) {}
  Status negotiate(const PluginSource& source);
  Status probe();
  Status open(const PluginSource& source);
  Status adopt(const bp_opened& opened);
  Status enumerate();
  bp_proc function(const char* name) const;

  Library library_;
  bp_get_proc_address_fn entry_ = nullptr;
  std::string id_, version_;
  uint32_t abi_ = 0, opset_ = 0;
  bool open_ = false;
  PluginTables tables_;
  std::vector<bp_device*> devices_;
};

}  // namespace backplane
