#include "backplane/registry/load_report.hpp"

namespace backplane {

std::string_view stage_name(LoadStage stage) {
  constexpr std::string_view kNames[] = {"found",  "opened",    "parsed", "validated", "filtered", "shadowed",
                                         "arch",   "cpu",       "trust",  "pin",       "probe",    "dlopen",
                                         "symbol", "negotiate", "open",   "enumerate", "active"};
  return kNames[static_cast<size_t>(stage)];
}

std::string_view outcome_name(LoadOutcome outcome) {
  constexpr std::string_view kNames[] = {"active", "eligible", "skipped", "failed"};
  return kNames[static_cast<size_t>(outcome)];
}

}  // namespace backplane
