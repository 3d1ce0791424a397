// FolderWatch: waits until something changes in folders, of which some may not exist yet (inotify).
// Thread safety: from one thread. While it exists, SIGINT and SIGTERM end its waiting instead of the process.
#pragma once

#include <sys/signalfd.h>

#include <csignal>
#include <string>
#include <vector>

#include "backplane/base/status.hpp"

namespace backplane::cli {

class FolderWatch {
 public:
  // Errors: resource_exhausted if the system gives no watch.
  static Result<FolderWatch> open(const std::vector<std::string>& folders);
  ~FolderWatch();
  FolderWatch(FolderWatch&& other) noexcept;
  FolderWatch& operator=(FolderWatch&&) = delete;

  // True after a change, once things have been quiet for a moment; false if the program is asked to end, or nobody
  // reads its output any more.
  bool wait();

 private:
  FolderWatch(std::vector<std::string> folders, int inotify, int signals, sigset_t before);
  // Watches each folder, or the nearest one above it that exists, so that its coming is seen.
  void watch_all();

  std::vector<std::string> folders_;
  int inotify_, signals_;
  sigset_t before_;
};

}  // namespace backplane::cli
