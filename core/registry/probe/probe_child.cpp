#include "probe_child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "backplane/base/text.hpp"
#include "probe_protocol.hpp"

namespace backplane {
namespace {

using End = ProbeVerdict::End;

// A process that a driver holds in the kernel cannot be killed; after this it is left alone.
constexpr std::chrono::seconds kKillGrace{2};
constexpr size_t kPipeBytes = 1 << 20;  // as much as an unprivileged process can put into a pipe
constexpr size_t kStepBytes = 1 << 18;

Status spawn_error(std::string_view what, int error) {
  return internal_error(cat("cannot try the plugin in a process of its own: ", what, ": ", std::strerror(error)),
                        "probe.spawn");
}

// The C library's own wrappers cannot be linked from C++ before glibc 2.37.
int pidfd_open(pid_t process) { return static_cast<int>(::syscall(SYS_pidfd_open, process, 0)); }
void pidfd_kill(int handle) { ::syscall(SYS_pidfd_send_signal, handle, SIGKILL, nullptr, 0); }

// The host may have closed its standard descriptors, so that new ones land on the numbers that the child needs.
Result<Descriptor> lifted(int number, std::string_view what) {
  if (number < 0) return spawn_error(what, errno);
  Descriptor low(number);
  if (number > kProbeBoardDescriptor) return low;
  Descriptor high(::fcntl(number, F_DUPFD_CLOEXEC, kProbeBoardDescriptor + 1));
  if (!high) return spawn_error(what, errno);
  return high;
}

Result<Descriptor> memory_file(const char* name, std::string_view content, size_t bytes) {
  BP_TRY_ASSIGN(Descriptor file, lifted(::memfd_create(name, MFD_CLOEXEC), "memfd_create"));
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return spawn_error("ftruncate", errno);
  for (size_t at = 0; at < content.size();) {
    const ssize_t put = ::pwrite(file.get(), content.data() + at, content.size() - at, static_cast<off_t>(at));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return spawn_error("write", errno);
    at += static_cast<size_t>(put);
  }
  return file;
}

// posix_spawn's two sets of wishes.
class SpawnSettings {
 public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  void give(const Descriptor& from, int number) {
    note(::posix_spawn_file_actions_adddup2(&actions_, from.get(), number));
  }
  // A process group of its own, every signal as after boot, and none of the host's other descriptors.
  void isolate() {
    sigset_t all, none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    note(::posix_spawn_file_actions_addclosefrom_np(&actions_, kProbeBoardDescriptor + 1));
    note(::posix_spawnattr_setflags(&attributes_,
                                    POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK));
    note(::posix_spawnattr_setpgroup(&attributes_, 0));
    note(::posix_spawnattr_setsigdefault(&attributes_, &all));
    note(::posix_spawnattr_setsigmask(&attributes_, &none));
  }
  int spawn(const std::string& program, pid_t* process) {
    std::string name = program;
    char* const arguments[] = {name.data(), nullptr};
    return error_ != 0 ? error_ : ::posix_spawn(process, program.c_str(), &actions_, &attributes_, arguments, environ);
  }

 private:
  void note(int error) {
    if (error_ == 0) error_ = error;
  }

  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
  int error_ = 0;
};

// The last of the text on lines as they are, everything else that a terminal or JSON would not take as \xNN.
std::string readable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\n\t"), text.size());
    out += printable(text.substr(0, end));
    if (end < text.size()) out += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (out.size() <= kProbeOutputMaxBytes) return out;
  size_t begin = out.size() - kProbeOutputMaxBytes;
  while (begin < out.size() && (static_cast<unsigned char>(out[begin]) & 0xC0) == 0x80) ++begin;  // within a character
  return out.substr(begin);
}

struct BoardText {
  LoadStage stage = LoadStage::found;
  std::string text;
};

// Whatever stands there: a plugin may have written all over it.
BoardText read_board(const Descriptor& file) {
  BoardText out;
  std::string bytes(sizeof(ProbeBoard), '\0');
  if (::pread(file.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return out;
  int stage = 0;
  uint32_t length = 0;
  std::memcpy(&stage, bytes.data() + offsetof(ProbeBoard, stage), sizeof stage);
  std::memcpy(&length, bytes.data() + offsetof(ProbeBoard, text_bytes), sizeof length);
  // What is none of the child's words comes from a plugin that was at work.
  const bool known = stage >= static_cast<int>(LoadStage::probe) && stage <= static_cast<int>(LoadStage::active);
  if (stage != 0) out.stage = known ? static_cast<LoadStage>(stage) : LoadStage::dlopen;
  if (length <= sizeof(ProbeBoard::text)) out.text = bytes.substr(offsetof(ProbeBoard, text), length);
  return out;
}

// What the child says of itself, if that is what a child says that came to its end.
std::optional<ProbeVerdict> own_verdict(const BoardText& board) {
  Result<ProbeVerdict> verdict = parse_probe_verdict(board.text);
  if (!verdict.ok() || verdict->deadly() || verdict->stage != board.stage) return std::nullopt;
  return *std::move(verdict);
}

}  // namespace

Result<ProbeChild> ProbeChild::start(const std::string& helper_path, const ProbeRequest& request,
                                     std::chrono::milliseconds limit) {
  const std::string text = to_json_text(request);
  if (const auto read_back = parse_probe_request(text);
      !read_back.ok() || read_back->library_path != request.library_path)
    return internal_error(cat("cannot ask for a trial of '", printable(request.library_path),
                              "': the path must be absolute and UTF-8; move or rename the library"),
                          "probe.spawn");
  ProbeChild child;
  BP_TRY_ASSIGN(const Descriptor input, memory_file("backplane-probe-request", text, text.size()));
  BP_TRY_ASSIGN(child.board_, memory_file("backplane-probe-board", {}, sizeof(ProbeBoard)));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return spawn_error("pipe", errno);
  Result<Descriptor> reader = lifted(ends[0], "pipe"), writer = lifted(ends[1], "pipe");  // both owned from here on
  BP_TRY(reader.status());
  BP_TRY(writer.status());
  child.output_ = *std::move(reader);
  ::fcntl(child.output_.get(), F_SETFL, O_NONBLOCK);  // of this end only: the child may block

  SpawnSettings settings;
  settings.give(input, STDIN_FILENO);
  settings.give(*writer, STDOUT_FILENO);
  settings.give(*writer, STDERR_FILENO);
  settings.give(child.board_, kProbeBoardDescriptor);
  settings.isolate();
  child.started_ = Clock::now();
  child.deadline_ = child.started_ + limit;
  if (const int error = settings.spawn(helper_path, &child.process_); error != 0) {
    child.process_ = -1;
    return spawn_error(cat("'", helper_path, "'"), error);
  }
  child.handle_ = Descriptor(pidfd_open(child.process_));
  if (!child.handle_ && errno != ESRCH) return spawn_error("pidfd_open", errno);  // ESRCH: ended, and reaped by others
  return child;
}

ProbeChild::ProbeChild(ProbeChild&& other) noexcept : ProbeChild() { *this = std::move(other); }

ProbeChild& ProbeChild::operator=(ProbeChild&& other) noexcept {
  std::swap(process_, other.process_);
  std::swap(handle_, other.handle_);
  std::swap(output_, other.output_);
  std::swap(board_, other.board_);
  std::swap(started_, other.started_);
  std::swap(deadline_, other.deadline_);
  std::swap(killed_, other.killed_);
  std::swap(printed_, other.printed_);
  return *this;
}

ProbeChild::~ProbeChild() {
  if (process_ < 0) return;
  kill_group();
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
}

std::array<pollfd, 2> ProbeChild::wanted() const {
  return {pollfd{handle_.get(), POLLIN, 0}, pollfd{output_.get(), POLLIN, 0}};
}

bool ProbeChild::step() {
  take_output(kStepBytes);
  if (ended()) return true;
  if (Clock::now() < deadline_) return false;
  if (killed_) return true;
  killed_ = true;
  deadline_ += kKillGrace;
  kill_group();
  return false;
}

void ProbeChild::take_output(size_t most_bytes) {
  char bytes[16 << 10];
  for (size_t taken = 0; output_ && taken < most_bytes;) {
    const ssize_t got = ::read(output_.get(), bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return output_.reset();
    taken += static_cast<size_t>(got);
    printed_.append(bytes, static_cast<size_t>(got));
    if (printed_.size() > 2 * kProbeOutputMaxBytes) printed_.erase(0, printed_.size() - kProbeOutputMaxBytes);
  }
}

bool ProbeChild::ended() const {
  pollfd wanted = {handle_.get(), POLLIN, 0};
  return !handle_ || ::poll(&wanted, 1, 0) > 0;
}

// A process that has ended keeps its number until it is reaped, and the number of its group until the last of the group
// is gone, so that nobody else is hit.
void ProbeChild::kill_group() const {
  ::kill(-process_, SIGKILL);
  if (handle_) pidfd_kill(handle_.get());  // if it has left the group
}

std::optional<int> ProbeChild::reap() {
  int status = 0;
  pid_t found = -1;
  do {
    found = ::waitpid(process_, &status, WNOHANG);
  } while (found < 0 && errno == EINTR);
  process_ = -1;
  return found > 0 ? std::optional(status) : std::nullopt;
}

Result<ProbeVerdict> ProbeChild::verdict() {
  kill_group();
  take_output(kPipeBytes);
  ProbeVerdict verdict = judge(reap());
  verdict.output = readable(printed_);
  const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - started_);
  verdict.elapsed_ns = static_cast<uint64_t>(elapsed.count());
  if (verdict.stage != LoadStage::found) return verdict;
  return internal_error(cat("the trial process ended before it touched the plugin (",
                            verdict.end == End::timed_out ? "time limit, "
                            : verdict.end == End::crashed ? "signal "
                                                          : "exit status ",
                            verdict.number, "): ", printable(shortened(verdict.output, 500))),
                        "probe.spawn");
}

// The child's own word counts only if it ended as one does that has said it.
ProbeVerdict ProbeChild::judge(std::optional<int> wait_status) const {
  const BoardText board = read_board(board_);
  const bool clean = wait_status ? WIFEXITED(*wait_status) && WEXITSTATUS(*wait_status) == 0 : !killed_;
  if (std::optional<ProbeVerdict> own = own_verdict(board); own && clean) return *std::move(own);
  ProbeVerdict verdict;
  verdict.stage = board.stage;
  if (killed_) {
    verdict.end = End::timed_out;
  } else if (wait_status && WIFSIGNALED(*wait_status)) {
    verdict.end = End::crashed;
    verdict.number = WTERMSIG(*wait_status);
  } else {
    verdict.end = End::exited;
    verdict.number = wait_status ? WEXITSTATUS(*wait_status) : -1;
  }
  return verdict;
}

}  // namespace backplane
