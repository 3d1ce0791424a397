// LoadReport: the story of one candidate file, from where it was found to why it stopped.
//
// Reports are kept for the life of the Runtime. `code` is stable: tools and tests compare it, never the prose.
// Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace backplane {

// How far a candidate got, in order.
enum class LoadStage {
  found,
  opened,
  parsed,
  validated,
  filtered,
  shadowed,
  arch,
  cpu,
  trust,
  pin,
  probe,
  dlopen,
  symbol,
  negotiate,
  open,
  enumerate,
  active,
};

enum class LoadOutcome {
  active,    // its devices are listed
  eligible,  // nothing speaks against it, but nothing was to be loaded
  skipped,   // by a rule: filtered, shadowed, another variant was better, the processor or hardware is not here
  failed,    // something is wrong with it
};

std::string_view stage_name(LoadStage stage);
std::string_view outcome_name(LoadOutcome outcome);

struct LoadReport {
  std::string source;        // what named the candidate: "api", "env:BACKPLANE_PLUGIN_PATH", "beside-core", ...
  std::string requested;     // the path as discovered: a manifest or a bare library
  std::string library_path;  // the library as resolved from the manifest; empty if it did not get that far
  std::string real_path;     // of the library, links resolved
  std::string loaded_path;   // of the library as the system's loader mapped it; empty if it did not
  std::string plugin_id;     // empty until the manifest is parsed
  std::string version;       // the plugin's own; of the manifest until the library says it
  LoadStage stage = LoadStage::found;
  LoadOutcome outcome = LoadOutcome::failed;
  std::string code;                // stable, such as "ok", "manifest.syntax", "elf.truncated", "symbol.missing"
  std::string message;             // one line for people: wanted, found, where
  std::string hint;                // what to do about it; may be empty
  std::string file;                // where in a manifest the trouble is; empty if nowhere
  uint32_t line = 0;               // 1-based; 0 = none
  uint32_t column = 0;             // 1-based, in bytes; 0 = none
  int system_error = 0;            // errno, or 0
  int signal = 0;                  // that ended the probe, or 0
  std::vector<std::string> notes;  // what is worth knowing besides the outcome, one line each
  std::string output;              // what the plugin printed while it was probed
  uint64_t elapsed_ns = 0;         // time spent on the candidate
  uint32_t device_count = 0;       // of an active plugin
};

}  // namespace backplane
