// Registry: finds plugins, judges them, and opens those that may and can run here.
//
// Every file found leaves one report, and the failure of one file takes nothing from another: only what is active
// shadows a later file of the same id or library. Thread safety: every function from any thread. Plugins are called
// with no lock held; scans run one at a time, and reading goes on meanwhile.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backplane/base/json.hpp"
#include "backplane/base/log.hpp"
#include "backplane/base/workers.hpp"
#include "backplane/registry/configuration.hpp"
#include "backplane/registry/cpu_features.hpp"
#include "backplane/registry/environment.hpp"
#include "backplane/registry/load_report.hpp"
#include "backplane/registry/notice.hpp"
#include "base/regular_file.hpp"
#include "registry/plugin/host_services.hpp"
#include "registry/plugin/plugin.hpp"

namespace backplane {

struct Candidate;

struct RegistryOptions {
  std::vector<std::string> plugin_paths;  // as RuntimeOptions
  bool search_system = true;
  bool load = true;
  bool probe_again = false;
  std::optional<ProbePolicy> probe;
  Environment environment;
  std::optional<CpuFeatures> cpu_features;     // none = this processor's
  std::map<std::string, Json> plugin_options;  // by plugin id: objects over manifest and configuration
  DeviceEventFn on_device_event;
  std::string host_name = "backplane";
};

class Registry {
 public:
  // Takes a plugin into use, such as by reading its devices; a failure closes it again. Called by scan with no lock
  // held.
  using Accept = std::function<Status(const Plugin& plugin)>;

  // Finds nothing before the first scan. `log` and `workers` outlive the Registry.
  Registry(RegistryOptions options, const Logger& log, Workers& workers);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Runs when a scan has ended, before another begins; with no lock held.
  using Done = std::function<void()>;

  // Discovers, judges and loads what is not active yet; what is active stays as it is. Waits for a scan of another
  // thread to end. Errors: failed_precondition "registry.nested" from within a plugin, `accept` or a log sink that a
  // scan has called; "config.broken" if a configuration that demands strict trust is broken. Nothing has changed then.
  Status scan(const Accept& accept, const Done& done = {});

  // One report per candidate of the last scan, in the order of discovery, then those of active plugins whose files are
  // gone.
  std::vector<LoadReport> reports() const;
  // What the last scan has to say besides.
  std::vector<Notice> notices() const;
  // As of the last scan; never null.
  std::shared_ptr<const Configuration> configuration() const;
  // The active plugins, in the order of loading; they live as long as the Registry.
  std::vector<const Plugin*> plugins() const;
  HostServices& host() { return host_; }

 private:
  // A plugin in use, and what it keeps later files from taking.
  struct Active {
    std::unique_ptr<Plugin> plugin;
    LoadReport report;
    FileIdentity library;
  };
  class Turn;  // the right to scan

  Status open(Candidate& candidate, const Accept& accept);

  const RegistryOptions options_;
  const CpuFeatures cpu_;
  const Logger& log_;
  HostServices host_;

  mutable std::mutex mutex_;  // guards all that follows; not held while a plugin, a sink or the disk is waited for
  std::condition_variable turn_over_;
  std::optional<std::thread::id> scanning_;  // who has the turn; only that thread changes what follows
  std::vector<LoadReport> reports_;
  std::vector<Notice> notices_;
  std::shared_ptr<const Configuration> configuration_;
  std::vector<Active> active_;
};

}  // namespace backplane
