// ProbeCache: verdicts of probes, kept in files by the content of what was tried.
//
// A verdict holds for: the library's content, the content of the libraries it needs, the request (options included),
// the host's version and the kernel's release. Content is known by SHA-256; the file's device, inode, size and change
// time spare the reading while they stay the same. One file a library and host program in the folder, written by
// rename; what cannot be read or written is as if it were not there. Thread safety: functions from any thread, also of
// several processes.
#pragma once

#include <optional>
#include <string>

#include "base/regular_file.hpp"
#include "probe.hpp"

namespace backplane {

class ProbeCache {
 public:
  // An empty folder name: nothing is kept. The folder is made when the first verdict is stored.
  explicit ProbeCache(std::string folder) : folder_(std::move(folder)) {}

  // `dependencies` is DependencyClosure::fingerprint.
  std::optional<ProbeVerdict> find(const ProbeRequest& request, const RegularFile& library,
                                   uint64_t dependencies) const;
  // Verdicts of End::refused are not worth keeping and are not.
  void store(const ProbeRequest& request, const RegularFile& library, uint64_t dependencies,
             const ProbeVerdict& verdict) const;

 private:
  std::string folder_;
};

}  // namespace backplane
