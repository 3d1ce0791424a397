// structural_hash: the key of a graph. Thread safety: a pure function.
#pragma once

#include <cstdint>

#include "backplane/abi/graph.h"

namespace backplane {

// Hashes every op, attribute, type, shape, stride, view, edge and flag of an unbound graph; neither names, nor tags,
// nor where things lie in the pools. Never 0.
uint64_t structural_hash(const bp_graph& graph);

}  // namespace backplane
