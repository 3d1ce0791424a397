// The reference evaluator: every op of op set 1, scalar and in double precision, written from docs/spec/ops.md.
//
// It folds constants at import and is the oracle of the tests. It shares no code with any plugin and is slow on
// purpose. Thread safety: pure functions.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/attrs.hpp"
#include "backplane/graph/graph.hpp"

namespace backplane::reference {

// Evaluates one op on dense values; a null HostTensor is an absent input. Returns all possible outputs of the op.
// Float math is done in double and rounded once to the output type; integer math in the type's own width.
// Errors: as `infer`; out_of_range for bad contents (an index outside its axis); unimplemented.
Result<std::vector<HostTensor>> evaluate(Op op, std::span<const HostTensor> inputs, const AttrList& attrs);

// Runs a whole graph; `inputs` by port name. Returns one value per graph output, in order. States start as zeros.
Result<std::vector<HostTensor>> run(const Graph& graph, const std::map<std::string, HostTensor>& inputs);

}  // namespace backplane::reference
