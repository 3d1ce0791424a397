// The export of a Trace. Format: Chrome's "Trace Event Format". Thread safety: pure function.
#pragma once

#include <span>

#include "backplane/base/json.hpp"
#include "backplane/scheduler/trace.hpp"

namespace backplane {

Json trace_json(const Plan& plan, std::span<const TraceEvent> events);

}  // namespace backplane
