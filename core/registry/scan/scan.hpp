// Scan: one pass of the registry over all candidates: discovery, judgement, trial, loading.
//
// Everything is decided in the order of discovery, manifests before bare libraries, so that the same files give the
// same outcome. Thread safety: used by the one thread that has the registry's turn; no lock is held.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backplane/base/log.hpp"
#include "candidate.hpp"
#include "plugin_filter.hpp"
#include "registry/elf/dependency_walk.hpp"
#include "registry/plugin/plugin.hpp"
#include "registry/probe/prober.hpp"
#include "registry/registry.hpp"

namespace backplane {

// A file that is in use, or would be, and so shadows later ones of its plugin id or library.
struct Taken {
  std::string plugin_id;
  FileIdentity library;
  LoadReport report;
  bool before = false;  // since an earlier scan
};

class Scan {
 public:
  // Opens the plugin of a candidate that passed everything, fills its report, and returns the failure if it does not.
  using Open = std::function<Status(Candidate& candidate)>;

  // All borrowed; `taken` are the plugins that are active already.
  Scan(const RegistryOptions& options, const Configuration& configuration, const CpuFeatures& cpu,
       std::vector<Taken> taken, Open open);

  void run();

  std::vector<LoadReport> take_reports();
  std::vector<Notice> take_notices();
  DependencyWalk& walk() { return walk_; }

 private:
  void keep_active(Candidate& candidate);
  void read_options(Candidate& candidate);
  bool would_be_loaded(const Candidate& candidate, const std::vector<Candidate*>& chosen) const;
  std::vector<Candidate*> choose();
  void shadow_duplicate(Candidate& candidate) const;
  void load_first_that_works(Candidate& candidate);
  void load(Candidate& candidate);
  void note_gone_files(std::vector<LoadReport>& reports) const;
  void note_required();

  const RegistryOptions& options_;
  const Configuration& configuration_;
  const CpuFeatures& cpu_;
  PluginFilter filter_;
  DependencyWalk walk_;
  Prober prober_;
  Open open_;
  std::vector<Taken> taken_;
  std::vector<Candidate> candidates_;
  std::vector<Notice> notices_;
};

}  // namespace backplane
