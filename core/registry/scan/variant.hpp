// Variants: builds of one plugin for different processors, of which the best that can run is used.
#pragma once

#include <span>

#include "candidate.hpp"

namespace backplane {

// Puts all but the candidate of the largest rank of every group, the first found among equals, on standby. Candidates
// that are stopped already take no part.
void choose_variants(std::span<Candidate> candidates);

// The next best of the group of `failed`, taken off standby; null if there is none.
Candidate* next_variant(std::span<Candidate> candidates, const Candidate& failed);

// Stops what is still on standby as "variant.lower-rank".
void dismiss_standby(std::span<Candidate> candidates);

}  // namespace backplane
