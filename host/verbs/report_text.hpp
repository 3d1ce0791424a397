// Load reports, notices and origins as text and as JSON.
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "backplane/base/json.hpp"
#include "backplane/registry/configuration.hpp"
#include "backplane/registry/load_report.hpp"
#include "backplane/registry/notice.hpp"

namespace backplane::cli {

Json to_json(const LoadReport& report);
Json to_json(const std::vector<LoadReport>& reports);
Json to_json(const Notice& notice);
Json to_json(const std::vector<Notice>& notices);

// Nothing failed, and something is in use or would be.
bool all_well(const std::vector<LoadReport>& reports);

// What an active plugin brings; of others the message, where in a file the trouble is unless it says so itself, and
// what to do; on one line, files beside the candidate by their bare names.
std::string explanation(const LoadReport& report);

// "message (file:line:column); hint [code]", on one line.
std::string sentence(const Notice& notice);
// "warning: " and the sentence.
std::string to_text(const Notice& notice);

// "file:line:column", or the variable that gave the value.
std::string origin_text(const ConfigurationEntry& entry);

// All that a report holds, one fact a line, indented by two spaces below its path.
std::string story(const LoadReport& report);

}  // namespace backplane::cli
