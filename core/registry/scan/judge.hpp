// Judge: everything about candidates that is decided without running code of a plugin.
//
// The stages are applied to all candidates in turn, so that no verdict depends on how another candidate's loading goes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/registry/configuration.hpp"
#include "backplane/registry/cpu_features.hpp"
#include "candidate.hpp"
#include "plugin_filter.hpp"
#include "registry/elf/shared_object.hpp"

namespace backplane {

// What candidates are judged by. Borrowed.
struct Rules {
  PluginFilter& filter;
  const Configuration& configuration;
  const CpuFeatures& cpu;
  TrustPolicy trust;
};

class Judge {
 public:
  Judge(std::vector<Candidate>& candidates, const Rules& rules);

  // Stops the candidates that cannot or must not be loaded, and removes bare libraries that a manifest tells of.
  void judge();

 private:
  void for_each(void (Judge::*stage)(Candidate&));
  void parse(Candidate& candidate);
  void parse_file(Candidate& candidate);
  void parse_embedded(Candidate& candidate);
  void adopt(Candidate& candidate, Manifest manifest);
  void settle_bare_libraries();
  void filter(Candidate& candidate);
  void check_library(Candidate& candidate);
  void check_cpu(Candidate& candidate);
  void check_abi(Candidate& candidate);
  void check_trust(Candidate& candidate);
  void check_pins(Candidate& candidate);

  std::vector<Candidate>& candidates_;
  const Rules& rules_;
  std::map<FileIdentity, std::string_view> own_;  // what is of this process, and what to call it
  std::set<FileIdentity> named_;                  // libraries that a manifest names, for whatever platform
  std::set<std::string> broken_;  // what a library beside a broken manifest would be called, without "lib" and ".so"
};

}  // namespace backplane
