// Places: where plugins are looked for, and what is there at the moment.
// Thread safety: from any thread; the file system is read anew by each call.
#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"
#include "backplane/base/json.hpp"
#include "backplane/registry/configuration.hpp"
#include "table.hpp"

namespace backplane::cli {

struct Place {
  std::string source, path;
};

// In the order in which they are looked at, for this process' environment.
std::vector<Place> places(const CommonArguments& arguments, const Configuration& configuration);

// "not there", "a folder with 2 candidates", "a file", or why it cannot be read.
std::string place_state(const std::string& path);

Table places_table(const std::vector<Place>& places);
Json to_json(const std::vector<Place>& places);

}  // namespace backplane::cli
