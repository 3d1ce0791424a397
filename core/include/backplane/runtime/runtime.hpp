// Runtime: discovers and loads plugins, and owns them and their devices.
//
// Start here to embed Backplane: open a Runtime, pick devices, build or import a Graph, prepare a Session.
// Ownership: the Runtime outlives everything made on its devices; closing it closes every plugin (their libraries
// stay mapped). Thread safety: const functions from any thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/base/log.hpp"
#include "backplane/base/status.hpp"
#include "backplane/base/workers.hpp"
#include "backplane/registry/environment.hpp"
#include "backplane/registry/load_report.hpp"
#include "backplane/runtime/device.hpp"

namespace backplane {

struct RuntimeOptions {
  // Looked at first: folders of manifests and libraries, or single files.
  std::vector<std::string> plugin_paths;
  // False = only plugin_paths; the environment and the folders of the system are not looked at.
  bool search_system = true;
  // None = the process' own.
  std::optional<Environment> environment;
  // Where log lines go; null = nowhere.
  std::shared_ptr<Logger> logger;
  // The pool for CPU work; null = one of the runtime's own. Not owned; outlives the Runtime.
  Workers* workers = nullptr;
  // Threads of the runtime's own pool, the caller's included; 0 = the CPUs this process may run on.
  uint32_t worker_count = 0;
  std::string host_name = "backplane";
};

class Runtime {
 public:
  // Discovers, loads and lists. A plugin that fails is a report, not an error; no devices is not an error.
  static Result<std::unique_ptr<Runtime>> open(RuntimeOptions options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // In priority order: gpu, igpu, accel, cpu, then as discovered.
  const std::vector<Device*>& devices() const { return device_list_; }
  // One report per candidate, in the order of discovery.
  std::span<const LoadReport> reports() const;
  // The device of a short name or selector. Errors: not_found, listing what there is.
  Result<Device*> device(std::string_view selector) const;
  // Devices of a comma-separated list, in that order, without repetition; "" = all. Errors: not_found.
  Result<std::vector<Device*>> select(std::string_view selectors) const;
  Workers& workers() const;
  Logger& log() const;

  // A run is a name under which work is submitted, so that plugins can ask whether it was cancelled.
  // Any thread. Run 0 is no run and cannot be cancelled.
  bp_run_id begin_run();           // never 0, never given twice
  void cancel_run(bp_run_id run);  // work of the run ends early with `cancelled`
  void finish_run(bp_run_id run);  // forgets it

 private:
  Runtime();
  struct State;
  std::unique_ptr<State> state_;
  std::vector<Device*> device_list_;
};

}  // namespace backplane
