// Variants: builds of one plugin for different processors, of which the best that can run is used.
#pragma once

#include <span>

#include "candidate.hpp"

namespace backplane {

// Keeps the candidate of the largest rank of every group, the first found among equals, and stops the others as
// "variant.lower-rank". Candidates that are stopped already take no part.
void choose_variants(std::span<Candidate> candidates);

}  // namespace backplane
