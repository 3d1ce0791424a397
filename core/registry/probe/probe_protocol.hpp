// What run_probes and the program backplane-probe agree upon, besides the texts of probe.hpp.
//
// The child gets the request as standard input and, as descriptor 3, memory that it shares with its parent: the board.
// It maps the board and closes the descriptor, so that neither a plugin that closes or writes to every descriptor nor
// a grandchild that keeps them open can disturb, and what stands on the board outlives a crash. The parent reads the
// board as a file, once the child has ended, and takes it for hostile. Thread safety: plain data and pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "backplane/base/json.hpp"
#include "backplane/base/status.hpp"
#include "probe.hpp"

namespace backplane {

constexpr int kProbeBoardDescriptor = 3;
constexpr uint64_t kProbeRequestMaxBytes = 16 << 20;  // the options of a manifest and of a configuration
constexpr size_t kProbeOutputMaxBytes = 64 << 10;

struct ProbeBoard {
  LoadStage stage;      // the last that was begun; `found` = the plugin has not been touched
  uint32_t text_bytes;  // of the verdict; 0 = none yet
  char text[64 << 10];  // to_json_text of a verdict that passed or was refused
};

// The verdict as a part of a larger document. Errors: as parse_probe_verdict.
Json verdict_to_json(const ProbeVerdict& verdict);
Result<ProbeVerdict> verdict_from_json(const Json& json);

}  // namespace backplane
