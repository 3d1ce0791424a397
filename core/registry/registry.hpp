// Registry: finds plugins, judges them, and opens those that may and can run here.
//
// Every file found leaves one report, and the failure of one file takes nothing from another: only what is active
// shadows a later file of the same id or library. Plugins are called with no lock held. Thread safety: const functions
// from any thread; reject is serialised by the caller.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backplane/base/json.hpp"
#include "backplane/base/log.hpp"
#include "backplane/base/workers.hpp"
#include "backplane/registry/environment.hpp"
#include "backplane/registry/load_report.hpp"
#include "cpu_features.hpp"
#include "host_services.hpp"
#include "plugin.hpp"
#include "regular_file.hpp"

namespace backplane {

struct Candidate;

struct RegistryOptions {
  std::vector<std::string> plugin_paths;  // as RuntimeOptions
  bool search_system = true;
  Environment environment;
  std::optional<CpuFeatures> cpu_features;     // none = this processor's
  std::map<std::string, Json> plugin_options;  // by plugin id: objects over the manifests' defaults
  DeviceEventFn on_device_event;
  std::string host_name = "backplane";
};

class Registry {
 public:
  // Discovers and loads. `log` and `workers` outlive the Registry.
  Registry(RegistryOptions options, const Logger& log, Workers& workers);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // One report per candidate, in the order of discovery.
  std::span<const LoadReport> reports() const { return reports_; }
  // The open plugins, in the order of discovery.
  const std::vector<std::unique_ptr<Plugin>>& plugins() const { return plugins_; }
  // Closes a plugin whose devices cannot be used, and says so in its report.
  void reject(const Plugin& plugin, const Status& status);
  HostServices& host() { return host_; }

 private:
  // What a file that is active keeps later ones from taking.
  struct Active {
    std::string plugin_id;
    FileIdentity library;
    std::string manifest;
  };

  void shadow_duplicate(Candidate& candidate);
  void load(Candidate& candidate);

  RegistryOptions options_;
  const Logger& log_;
  HostServices host_;
  std::vector<LoadReport> reports_;
  std::vector<std::unique_ptr<Plugin>> plugins_;
  std::vector<Active> active_;
};

}  // namespace backplane
