// Runtime: discovers and loads plugins, and owns them and their devices.
//
// Start here to embed Backplane: open a Runtime, pick devices, build or import a Graph, prepare a Session.
// Ownership: the Runtime outlives everything made on its devices; closing it closes every plugin (their libraries
// stay mapped). Thread safety: every function from any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/base/json.hpp"
#include "backplane/base/log.hpp"
#include "backplane/base/status.hpp"
#include "backplane/base/workers.hpp"
#include "backplane/registry/configuration.hpp"
#include "backplane/registry/environment.hpp"
#include "backplane/registry/load_report.hpp"
#include "backplane/registry/notice.hpp"
#include "backplane/runtime/device.hpp"

namespace backplane {

struct RuntimeOptions {
  // Looked at first: folders of manifests and libraries, or single files.
  std::vector<std::string> plugin_paths;
  // False = only plugin_paths; the environment and the folders of the system are not looked at.
  bool search_system = true;
  // None = the process' own.
  std::optional<Environment> environment;
  // By plugin id: an object of options over those of the manifest and the configuration.
  std::map<std::string, Json> plugin_options;
  // Whether plugins are tried in a child process before they are loaded. None = as the configuration and
  // BACKPLANE_PROBE say, and off without search_system.
  std::optional<ProbePolicy> probe;
  // Tries anew what an earlier trial condemned.
  bool probe_again = false;
  // False = judges only: reports say what would be loaded, no code of a plugin runs, there are no devices.
  bool load = true;
  // Where log lines go; null = nowhere.
  std::shared_ptr<Logger> logger;
  // The pool for CPU work; null = one of the runtime's own. Not owned; outlives the Runtime.
  Workers* workers = nullptr;
  // Threads of the runtime's own pool, the caller's included; 0 = the CPUs this process may run on.
  uint32_t worker_count = 0;
  std::string host_name = "backplane";
};

// One active plugin.
struct PluginInfo {
  std::string id, version, library_path;
  uint32_t abi = 0;  // BP_VERSION, as agreed
};

class Runtime {
 public:
  // Discovers, loads and lists. A plugin that fails is a report, not an error; no devices is not an error. Errors:
  // failed_precondition "config.broken" if a configuration that demands strict trust is broken.
  static Result<std::unique_ptr<Runtime>> open(RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Picks up what was dropped since: reads the configuration again, looks at all places, loads what is new. What is
  // active stays as it is, devices and pointers included. Errors: as open; failed_precondition "registry.nested" from
  // within a plugin or a log sink that a scan has called. Nothing has changed then.
  Status rescan();

  // Best first: devices.order of the configuration, then gpu, igpu, accel, cpu, then the plugins' priority, then as
  // discovered; only those of BACKPLANE_DEVICES, in its order, if that is set.
  std::vector<Device*> devices() const;
  std::vector<Device*> devices_of_type(uint32_t type) const;  // BP_DEVICE_*, in the same order
  // The first of devices(). Errors: not_found.
  Result<Device*> best_device() const;
  // The device of a short name, "<plugin-id>:<index>", "pci:..." or "uuid:..."; the first that a glob of these fits.
  // Errors: not_found, listing what there is.
  Result<Device*> device(std::string_view selector) const;
  // Devices of a comma-separated list, in that order, without repetition, all that a glob fits; "" = all. Errors:
  // not_found.
  Result<std::vector<Device*>> select(std::string_view selectors) const;

  // The active plugins, in the order of loading.
  std::vector<PluginInfo> plugins() const;
  // A table of a plugin's extension of at least `min_version`; null if there is no such plugin or extension.
  template <class Table>
  const Table* extension(std::string_view plugin_id, const char* name, uint32_t min_version = 1) const {
    return static_cast<const Table*>(get_extension(plugin_id, name, min_version));
  }

  // One report per candidate, in the order of discovery.
  std::vector<LoadReport> reports() const;
  // What there is to say besides: broken configuration, unknown variables, selectors that fit nothing.
  std::vector<Notice> notices() const;
  // In force since open or the last rescan; never null.
  std::shared_ptr<const Configuration> configuration() const;
  Workers& workers() const;
  Logger& log() const;

  // A run is a name under which work is submitted, so that plugins can ask whether it was cancelled.
  // Any thread. Run 0 is no run and cannot be cancelled.
  bp_run_id begin_run();           // never 0, never given twice
  void cancel_run(bp_run_id run);  // work of the run ends early with `cancelled`
  void finish_run(bp_run_id run);  // forgets it

 private:
  Runtime();
  const void* get_extension(std::string_view plugin_id, const char* name, uint32_t min_version) const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace backplane
