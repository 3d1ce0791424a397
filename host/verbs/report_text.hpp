// Load reports and notices as text and as JSON.
// Thread safety: pure functions.
#pragma once

#include <string>

#include "backplane/base/json.hpp"
#include "backplane/registry/load_report.hpp"
#include "backplane/registry/notice.hpp"

namespace backplane::cli {

Json to_json(const LoadReport& report);
Json to_json(const Notice& notice);

// The message, where in a file the trouble is unless it says so itself, and what to do; on one line, files beside the
// candidate by their bare names.
std::string explanation(const LoadReport& report);

// "warning: message (file:line:column); hint [code]"
std::string to_text(const Notice& notice);

// All that a report holds, one fact a line, indented by two spaces below its path.
std::string story(const LoadReport& report);

}  // namespace backplane::cli
