// LeanModel: a serialised model without the bytes of its large tensors. protobuf copies what it parses, and a copy of
// the weights costs their size again, and seconds; so they are taken out before. Thread safety: pure function.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "backplane/base/status.hpp"

namespace backplane::onnx_import {

// The location of external data that lies in the model's own file. No name of a file has a NUL.
inline constexpr std::string_view kThisFile("\0this file", 10);

// The ModelProto `bytes` with every tensor's raw_data of at least `large` bytes given as external data in kThisFile,
// offsets counted from the start of `bytes`. Nullopt if there is none, or if this is no message: protobuf says what is
// wrong with it.
std::optional<std::string> lean_model(std::span<const std::byte> bytes, size_t large);

// Hops over the fields of a message, not into them: the quick answer to a file that is truncated or not protobuf at
// all. Errors: invalid_argument, naming the byte at which a field starts that is not whole.
Status check_fields(std::span<const std::byte> message);

}  // namespace backplane::onnx_import
