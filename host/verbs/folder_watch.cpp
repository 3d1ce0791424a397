#include "folder_watch.hpp"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "backplane/base/text.hpp"

namespace backplane::cli {
namespace {

constexpr uint32_t kEvents =
    IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_ATTRIB;
constexpr int kQuietMs = 200;  // a library and its manifest come as two files

void drain(int descriptor) {
  char buffer[4096];
  while (::read(descriptor, buffer, sizeof buffer) > 0) {
  }
}

}  // namespace

Result<FolderWatch> FolderWatch::open(const std::vector<std::string>& folders) {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  const int inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  const int signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  FolderWatch watch(folders, inotify, signals, before);
  if (inotify < 0 || signals < 0)
    return Status(Code::resource_exhausted, cat("the system cannot watch folders: ", std::strerror(errno)));
  watch.watch_all();
  return watch;
}

FolderWatch::FolderWatch(std::vector<std::string> folders, int inotify, int signals, sigset_t before)
    : folders_(std::move(folders)), inotify_(inotify), signals_(signals), before_(before) {}

FolderWatch::FolderWatch(FolderWatch&& other) noexcept
    : folders_(std::move(other.folders_)),
      inotify_(std::exchange(other.inotify_, -1)),
      signals_(std::exchange(other.signals_, -1)),
      before_(other.before_) {}

FolderWatch::~FolderWatch() {
  if (inotify_ >= 0) ::close(inotify_);
  if (signals_ < 0) return;
  ::close(signals_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void FolderWatch::watch_all() {
  for (const std::string& folder : folders_)
    for (std::filesystem::path path = folder;; path = path.parent_path())
      if (inotify_add_watch(inotify_, path.c_str(), kEvents) >= 0 || !path.has_relative_path()) break;
}

bool FolderWatch::wait() {
  bool changed = false;
  for (;;) {
    // The standard output as a third: an error there means that its reader is gone.
    pollfd polled[] = {{inotify_, POLLIN, 0}, {signals_, POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    const int ready = ::poll(polled, std::size(polled), changed ? kQuietMs : -1);
    if (ready < 0 && errno != EINTR) return false;
    if (polled[1].revents != 0 || (polled[2].revents & (POLLERR | POLLHUP)) != 0) return false;
    if (ready == 0) break;
    if (polled[0].revents == 0) continue;
    drain(inotify_);
    changed = true;
  }
  watch_all();  // a folder may have come
  return true;
}

}  // namespace backplane::cli
