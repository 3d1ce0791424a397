// Reading ONNX's protobuf messages.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backplane/base/status.hpp"
#include "file_map.hpp"
#include "model.hpp"

namespace backplane::onnx_import {

inline constexpr int64_t kOldestOpset = 1;
inline constexpr int64_t kNewestOpset = 22;

// A serialised message, and what keeps its bytes: nullptr = they are there during the call only.
struct Serialised {
  std::span<const std::byte> bytes;
  std::shared_ptr<const FileMap> keeper = nullptr;
};

// Reads a model; tensors keep what they share alive. Large weights are not copied, if the model's bytes have a keeper;
// then they need not be aligned. `name` is for messages; external data is looked up in `folder` and may not lie outside
// of it. Errors: invalid_argument for bytes that are not ONNX or are truncated, for a tensor
// whose data does not fit its shape, and for an opset outside kOldestOpset..kNewestOpset; unimplemented for an element
// type that Backplane has not; not_found for missing external data.
Result<Model> read_model(const Serialised& model, const std::string& name, const std::string& folder);

// Reads one FunctionProto. Errors: as read_model.
Result<FunctionDef> read_function(std::string_view bytes);

}  // namespace backplane::onnx_import
