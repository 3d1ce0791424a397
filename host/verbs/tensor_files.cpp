#include "tensor_files.hpp"

#include <algorithm>
#include <filesystem>

#include "backplane/base/text.hpp"

namespace backplane::cli {

std::string tensor_file_name(std::string_view prefix, std::string_view name, std::string_view suffix) {
  std::string file = cat(prefix, name, suffix);
  std::replace_if(
      file.begin(), file.end(), [](char c) { return c == '/' || c == ':'; }, '_');
  return file;
}

std::string find_tensor_file(const std::string& folder, std::string_view prefix, std::string_view name,
                             std::string_view suffix) {
  std::error_code error;
  for (const std::string& file : {tensor_file_name(prefix, name, suffix), cat(prefix, name, suffix)}) {
    if (file.find('/') != std::string::npos) continue;
    const std::filesystem::path path = std::filesystem::path(folder) / file;
    if (std::filesystem::exists(path, error)) return path.string();
  }
  return {};
}

Status check_folder(std::string_view option, const std::string& folder) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(folder, error);
  if (std::filesystem::is_directory(status)) return ok_status();
  if (std::filesystem::exists(status)) return invalid_argument(cat(option, ": '", folder, "' is not a folder"));
  return not_found(cat(option, ": there is no folder '", folder, "'"));
}

}  // namespace backplane::cli
