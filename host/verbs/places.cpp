#include "places.hpp"

#include <filesystem>

#include "backplane/base/text.hpp"
#include "backplane/registry/search_path.hpp"

namespace backplane::cli {

std::vector<Place> places(const CommonArguments& arguments, const Configuration& configuration) {
  std::vector<Place> list;
  for (SearchEntry& entry :
       search_path({arguments.plugin_paths, true, Environment::process(), configuration.plugin_folders}))
    list.push_back({std::move(entry.source), std::move(entry.path)});
  return list;
}

std::string place_state(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    return error && error != std::errc::no_such_file_or_directory ? error.message() : "not there";
  if (!std::filesystem::is_directory(status)) return "a file";
  uint64_t count = 0;
  for (std::filesystem::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const std::string name = to_lower(at->path().filename().string());
    count += !name.starts_with('.') && (name.ends_with(".json") || name.ends_with(".so"));
  }
  return error ? error.message() : cat("a folder with ", counted(count, "candidate", "candidates"));
}

Table places_table(const std::vector<Place>& places) {
  Table table({"SOURCE", "PATH", "STATE"});
  for (const Place& place : places) table.add({place.source, place.path, place_state(place.path)});
  return table;
}

Json to_json(const std::vector<Place>& places) {
  Json list = Json::array();
  for (const Place& place : places)
    list.push(Json::object({{"source", Json::text(place.source)},
                            {"path", Json::text(place.path)},
                            {"state", Json::text(place_state(place.path))}}));
  return list;
}

}  // namespace backplane::cli
