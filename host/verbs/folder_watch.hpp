// FolderWatch: waits until something changes in folders, of which some may not exist yet (inotify).
// Thread safety: from one thread. While it exists, SIGINT and SIGTERM end its waiting instead of the process.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include "backplane/base/status.hpp"

namespace backplane::cli {

class FolderWatch {
 public:
  // Errors: resource_exhausted "watch.limit" if the system gives no watch.
  static Result<FolderWatch> open();
  ~FolderWatch();
  FolderWatch(FolderWatch&& other) noexcept;
  FolderWatch& operator=(FolderWatch&&) = delete;

  // Watches the folders too; of a file its folder, and of what is not there the nearest folder above it, so that its
  // coming is seen: then call it again. Errors: as open.
  Status add(const std::vector<std::string>& folders);
  // True after a change, once things have been quiet for a moment or busy for long; false if the program is asked to
  // end, or nobody reads its output any more.
  bool wait();

 private:
  FolderWatch(int inotify, int signals, sigset_t before) : inotify_(inotify), signals_(signals), before_(before) {}

  int inotify_, signals_;
  sigset_t before_;
};

}  // namespace backplane::cli
