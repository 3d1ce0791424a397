// The host's log sink: lines on stderr through spdlog, coloured on a terminal only.
#pragma once

#include "backplane/base/log.hpp"

namespace backplane::cli {

// Thread safety: the sink may be called from any thread.
LogSink stderr_sink();

}  // namespace backplane::cli
