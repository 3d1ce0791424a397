#include "folder_watch.hpp"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <utility>

#include "backplane/base/text.hpp"

namespace backplane::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Writing counts, so that a library that is still being copied is waited for.
constexpr uint32_t kEvents = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                             IN_DELETE_SELF | IN_ATTRIB | IN_ONLYDIR;
constexpr int kQuietMs = 200;  // a library and its manifest come as two files
constexpr auto kLongest = std::chrono::seconds(10);

Status no_watch(int error) {
  const char* advice = error == ENOSPC || error == EMFILE ? "; see sysctl fs.inotify" : "";
  return Status(Code::resource_exhausted, cat("the system cannot watch folders: ", std::strerror(error), advice),
                "watch.limit");
}

void drain(int descriptor) {
  char buffer[4096];
  while (::read(descriptor, buffer, sizeof buffer) > 0) {
  }
}

}  // namespace

Result<FolderWatch> FolderWatch::open() {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  const int signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (signals < 0) return no_watch(errno);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  const int inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  const int error = errno;
  FolderWatch watch(inotify, signals, before);
  if (inotify < 0) return no_watch(error);
  return watch;
}

FolderWatch::FolderWatch(FolderWatch&& other) noexcept
    : inotify_(std::exchange(other.inotify_, -1)),
      signals_(std::exchange(other.signals_, -1)),
      before_(other.before_) {}

FolderWatch::~FolderWatch() {
  if (inotify_ >= 0) ::close(inotify_);
  if (signals_ < 0) return;
  // A signal that has been heeded must not end the process now.
  drain(signals_);
  ::close(signals_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

Status FolderWatch::add(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders)
    for (std::filesystem::path path = folder;; path = path.parent_path()) {
      if (inotify_add_watch(inotify_, path.c_str(), kEvents) >= 0) break;
      if (errno == ENOSPC || errno == ENOMEM) return no_watch(errno);
      if (!path.has_relative_path()) break;
    }
  return {};
}

bool FolderWatch::wait() {
  bool changed = false;
  Clock::time_point first;
  while (!changed || Clock::now() - first < kLongest) {
    // The standard output as a third: an error there means that its reader is gone.
    pollfd polled[] = {{inotify_, POLLIN, 0}, {signals_, POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    const int ready = ::poll(polled, std::size(polled), changed ? kQuietMs : -1);
    if (ready < 0 && errno != EINTR) return false;
    if (ready < 0) continue;
    if (polled[1].revents != 0 || (polled[2].revents & (POLLERR | POLLHUP)) != 0) return false;
    if (ready == 0) break;
    if (polled[0].revents == 0) continue;
    drain(inotify_);
    if (!changed) first = Clock::now();
    changed = true;
  }
  return true;
}

}  // namespace backplane::cli
