// Prober: tries candidates in child processes before they are loaded, unless a verdict is known already.
//
// Thread safety: serialised by the caller.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "backplane/registry/configuration.hpp"
#include "backplane/registry/notice.hpp"
#include "probe.hpp"
#include "probe_cache.hpp"
#include "registry/elf/dependency_walk.hpp"
#include "registry/scan/candidate.hpp"

namespace backplane {

struct ProbeSettings {
  ProbePolicy policy = ProbePolicy::cached;
  std::chrono::milliseconds limit{10000};
  std::string cache_folder;  // empty = no verdict is kept
  bool again = false;        // try what a kept verdict condemns
  std::string host_name;
};

class Prober {
 public:
  // `walk` is borrowed.
  Prober(ProbeSettings settings, DependencyWalk& walk);

  // Stops the candidates that kill or hang their process: "probe.crashed", "probe.exited", "probe.timeout". What fails
  // in an orderly way goes on, to fail likewise when it is loaded.
  void probe(const std::vector<Candidate*>& candidates);
  // That the helper program is missing, once, if it was needed.
  std::vector<Notice> take_notices() { return std::move(notices_); }

 private:
  struct Trial {
    Candidate* candidate;
    ProbeRequest request;
    uint64_t dependencies;
  };
  // Applies a known verdict; true if there is one that holds.
  bool recall(const Trial& trial);
  void run(const std::vector<Trial>& trials);
  void apply(Candidate& candidate, const ProbeVerdict& verdict, bool remembered) const;

  ProbeSettings settings_;
  DependencyWalk& walk_;
  ProbeCache cache_;
  std::vector<Notice> notices_;
};

}  // namespace backplane
