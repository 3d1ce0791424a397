#include "variant.hpp"

#include <map>
#include <string>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

bool takes_part(const Candidate& candidate) {
  return !candidate.stopped && candidate.manifest && candidate.manifest->variant;
}

int64_t rank(const Candidate& candidate) { return candidate.manifest->variant->rank; }

// The better of two of one group; the first found among equals.
Candidate* better(Candidate* leader, Candidate& other) {
  return !leader || rank(other) > rank(*leader) ? &other : leader;
}

}  // namespace

void choose_variants(std::span<Candidate> candidates) {
  std::map<std::string, Candidate*> best;
  for (Candidate& candidate : candidates) {
    if (!takes_part(candidate)) continue;
    Candidate*& leader = best[candidate.manifest->variant->group];
    leader = better(leader, candidate);
  }
  for (Candidate& candidate : candidates)
    if (takes_part(candidate)) candidate.standby = best[candidate.manifest->variant->group] != &candidate;
}

Candidate* next_variant(std::span<Candidate> candidates, const Candidate& failed) {
  if (!failed.manifest || !failed.manifest->variant) return nullptr;
  Candidate* next = nullptr;
  for (Candidate& candidate : candidates)
    if (candidate.standby && candidate.manifest->variant->group == failed.manifest->variant->group)
      next = better(next, candidate);
  if (next) next->standby = false;
  return next;
}

void dismiss_standby(std::span<Candidate> candidates) {
  for (Candidate& candidate : candidates) {
    if (!candidate.standby) continue;
    candidate.standby = false;
    const ManifestVariant& variant = *candidate.manifest->variant;
    std::string better = "a better one";
    for (const Candidate& other : candidates)
      if (other.manifest && other.manifest->variant && other.manifest->variant->group == variant.group &&
          (other.report.outcome == LoadOutcome::active || other.report.outcome == LoadOutcome::eligible))
        better = cat("'", other.report.requested, "' of rank ", rank(other));
    candidate.stop(LoadStage::shadowed, LoadOutcome::skipped,
                   failed_precondition(cat("variant of rank ", variant.rank, " of '", variant.group, "'; ", better,
                                           " runs here too and is used"),
                                       "variant.lower-rank"));
  }
}

}  // namespace backplane
