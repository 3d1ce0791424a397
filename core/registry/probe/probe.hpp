// Probes: loading plugins in child processes first, so that one that crashes or hangs does it there.
//
// A child (the program backplane-probe) maps the library, negotiates, opens, lists the devices and closes, and notes in
// memory that it shares with its parent how far it got. It has the host's environment and a wall time limit, leaves no
// core file, and what it prints is kept. This avoids crashes; it is no sandbox. Thread safety: functions from any
// thread; children die with the thread that called run_probes.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/base/json.hpp"
#include "backplane/base/status.hpp"
#include "backplane/registry/load_report.hpp"

namespace backplane {

// What is tried. The child reads it as JSON from its standard input.
struct ProbeRequest {
  std::string library_path;  // absolute, links resolved
  std::string plugin_id, entry_point;
  Json default_options = Json::object();  // the manifest's
  Json options = Json::object();          // over them
  std::string host_name;
};

struct ProbeVerdict {
  enum class End {
    passed,     // all stages and close
    refused,    // a stage failed in an orderly way; loading in the host will tell the same
    crashed,    // a signal
    exited,     // ended without saying so, such as by _exit
    timed_out,  // killed at the time limit
  };
  End end = End::passed;
  LoadStage stage = LoadStage::dlopen;  // the last that was begun; `active` = in close
  int number = 0;                       // signal of crashed, exit status of exited (-1 = somebody else took it)
  std::string code, message;            // of refused
  std::string output;                   // what it printed on stdout and stderr: the last 64 KiB
  uint64_t elapsed_ns = 0;

  bool deadly() const { return end == End::crashed || end == End::exited || end == End::timed_out; }
};

// The failure that a deadly verdict stands for: "probe.crashed", "probe.exited" or "probe.timeout", naming stage and
// signal. REQUIRES: deadly.
Status probe_failure(const ProbeVerdict& verdict, std::chrono::milliseconds limit);

// The helper program beside the core library. Errors: not_found "probe.helper-missing".
Result<std::string> probe_helper_path();

// Tries all, several at a time; verdicts in the order of the requests. Errors, by request: internal "probe.spawn" if
// the plugin was not even touched.
std::vector<Result<ProbeVerdict>> run_probes(const std::string& helper_path, std::span<const ProbeRequest> requests,
                                             std::chrono::milliseconds limit);

// The wire formats, strict in what they read. Errors of the parsers: invalid_argument "probe.protocol".
std::string to_json_text(const ProbeRequest& request);
Result<ProbeRequest> parse_probe_request(std::string_view text);
std::string to_json_text(const ProbeVerdict& verdict);
Result<ProbeVerdict> parse_probe_verdict(std::string_view text);

}  // namespace backplane
