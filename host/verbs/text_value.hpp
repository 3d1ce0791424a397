// Tensors of strings as JSON: "a", ["a", "b"], [["a"], ["b"]]. Thread safety: pure functions.
#pragma once

#include <string>

#include "backplane/base/status.hpp"
#include "backplane/formats/onnx.hpp"

namespace backplane::cli {

// Errors: invalid_argument naming `what`, for text that is no such JSON.
Result<OnnxText> parse_text(const std::string& json, const std::string& what);

// The same of a file; and into one. Errors: not_found; invalid_argument; what the system says.
Result<OnnxText> read_text(const std::string& path);
Status write_text(const std::string& path, const OnnxText& text);

}  // namespace backplane::cli
