// ProbeChild: one running child process that tries a plugin.
//
// Neither installs signal handlers nor relies on SIGCHLD: the end is seen on a pidfd. Works whatever the host has done
// to its standard descriptors, to SIGCHLD and with waitpid; where somebody else reaps the child, how it ended is not
// known, but what it said before is. Thread safety: serialised by the caller; the thread that starts a child must
// outlive it, because the child dies with that thread.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>

#include "base/descriptor.hpp"
#include "probe.hpp"

namespace backplane {

class ProbeChild {
 public:
  using Clock = std::chrono::steady_clock;

  // Errors: internal "probe.spawn".
  static Result<ProbeChild> start(const std::string& helper_path, const ProbeRequest& request,
                                  std::chrono::milliseconds limit);
  ProbeChild(ProbeChild&& other) noexcept;
  ProbeChild& operator=(ProbeChild&& other) noexcept;
  // Kills what still runs.
  ~ProbeChild();

  // What to wait for before the next step, and until when at most.
  std::array<pollfd, 2> wanted() const;
  Clock::time_point deadline() const { return deadline_; }

  // Takes what the child has printed and kills it if its time is up. True = over: call verdict.
  bool step();
  // Ends what is left of the child's process group. Errors: internal "probe.spawn" if the child ended before it touched
  // the plugin. REQUIRES: step was true.
  Result<ProbeVerdict> verdict();

 private:
  ProbeChild() = default;
  void take_output(size_t most_bytes);
  bool ended() const;
  void kill_group() const;
  // Waits for the process that has ended. Nothing if somebody else did or nobody can.
  std::optional<int> reap();
  ProbeVerdict judge(std::optional<int> wait_status) const;

  pid_t process_ = -1;  // -1 = none or reaped
  Descriptor handle_;   // pidfd
  Descriptor output_, board_;
  Clock::time_point started_, deadline_;
  bool killed_ = false;  // at the time limit
  std::string printed_;  // the last of it, as it came
};

}  // namespace backplane
