// JSON that may go to a terminal: control characters that JSON lets pass in texts are written as \u escapes.
// Thread safety: from the main thread.
#pragma once

#include <string>
#include <string_view>

#include "backplane/base/json.hpp"

namespace backplane::cli {

// The same JSON without DEL and U+0080 to U+009F, by which texts from files could play with the terminal.
std::string terminal_json(std::string_view json);

// Writes a document, or one line for each.
void print_json(const Json& json);
void print_json_line(const Json& json);

}  // namespace backplane::cli
