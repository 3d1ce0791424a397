#include "variant.hpp"

#include <map>
#include <string>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

bool takes_part(const Candidate& candidate) {
  return !candidate.stopped && candidate.manifest && candidate.manifest->variant;
}

}  // namespace

void choose_variants(std::span<Candidate> candidates) {
  std::map<std::string, const Candidate*> best;
  for (const Candidate& candidate : candidates) {
    if (!takes_part(candidate)) continue;
    const Candidate*& leader = best[candidate.manifest->variant->group];
    if (!leader || candidate.manifest->variant->rank > leader->manifest->variant->rank) leader = &candidate;
  }
  for (Candidate& candidate : candidates) {
    if (!takes_part(candidate)) continue;
    const ManifestVariant& variant = *candidate.manifest->variant;
    const Candidate* leader = best[variant.group];
    if (leader == &candidate) continue;
    candidate.stop(LoadStage::shadowed, LoadOutcome::skipped,
                   failed_precondition(
                       cat("variant of rank ", variant.rank, " of '", variant.group, "'; '", leader->report.requested,
                           "' of rank ", leader->manifest->variant->rank, " runs here too and is used"),
                       "variant.lower-rank"));
  }
}

}  // namespace backplane
