// structural_equality: whether two graphs are the same but for names. Thread safety: pure functions.
#pragma once

#include "backplane/graph/graph.hpp"

namespace backplane {

// Compares every op, attribute, type, shape, stride, view, edge and flag, in full: equal hashes are not trusted. Names,
// and values of constants, are not looked at. Graphs that were built alike are found equal; two that are the same but
// whose arrays are laid out differently may be found different.
bool same_structure(const Graph& a, const Graph& b);

// Whether two graphs differ in nothing but extents, strides, offsets and sizes: what a program can be adapted to.
bool same_topology(const bp_graph& a, const bp_graph& b);

// Whether all tensors and nodes have the same names too. REQUIRES: same_structure(a, b).
bool same_names(const Graph& a, const Graph& b);

// Whether the constants are the same memory. REQUIRES: same_structure(a, b).
bool same_constants(const Graph& a, const Graph& b);

}  // namespace backplane
