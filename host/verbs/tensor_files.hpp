// Folders of in-NAME.npy and out-NAME.npy (of strings: .json): the values of a model's inputs and outputs.
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "backplane/base/status.hpp"

namespace backplane::cli {

// Of numbers, and of strings.
inline constexpr std::string_view kNumbersSuffix = ".npy", kTextSuffix = ".json";

// "out-" and "a/b:c" give "out-a_b_c.npy".
std::string tensor_file_name(std::string_view prefix, std::string_view name, std::string_view suffix = kNumbersSuffix);

// The path of that file in `folder`, or of one that keeps ':' in its name; "" if there is neither.
std::string find_tensor_file(const std::string& folder, std::string_view prefix, std::string_view name,
                             std::string_view suffix = kNumbersSuffix);

// Errors: not_found; invalid_argument for what is no folder.
Status check_folder(std::string_view option, const std::string& folder);

}  // namespace backplane::cli
