// DependencyWalk: which libraries a library needs, where the system's loader would find them, and why it would not.
//
// Follows DT_NEEDED through the rules of ld.so(8): DT_RPATH of the chain (without DT_RUNPATH), LD_LIBRARY_PATH,
// DT_RUNPATH of the one that asks, /etc/ld.so.cache, the standard folders. It answers for a process that has loaded
// nothing yet; but a library that this process has mapped already, from wherever, is not missing. The DT_RPATH of the
// program and of this library, and LD_PRELOAD, are not looked at. Runs no code. Thread safety: serialised by the
// caller; remembers the files it has read, so one walk object serves many libraries, and another one sees what has
// changed since.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backplane/registry/environment.hpp"
#include "base/regular_file.hpp"

namespace backplane {

struct MissingLibrary {
  std::string soname;
  std::vector<std::string> chain;  // real paths from the library asked about to the one that needs it
  std::string reason;              // one sentence: where was looked, and why a RUNPATH on the way did not help
  std::string hint;                // what would make it found, if the walk knows; may be empty
};

struct DependencyClosure {
  std::vector<std::string> files;  // real paths of all that is found, sorted, without the library itself
  std::vector<MissingLibrary> missing;
  uint64_t fingerprint = 0;  // changes when any of `files` is another file or has changed
};

class DependencyWalk {
 public:
  explicit DependencyWalk(const Environment& environment, const std::string& cache_path = "/etc/ld.so.cache");
  ~DependencyWalk();
  DependencyWalk(const DependencyWalk&) = delete;
  DependencyWalk& operator=(const DependencyWalk&) = delete;

  // Never fails: what cannot be read is missing, with the reason.
  DependencyClosure walk(const std::string& library_path);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace backplane
