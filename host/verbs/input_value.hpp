// Values of model inputs as the command line writes them.
//
//   @file.npy                    an array
//   @image.png, @image.jpg       a picture for an input [N, 3, H, W], scaled to it; open H and W take the picture's.
//                                Options after it: ,mean=M ,scale=S (one number, or a:b:c by channel) and ,bgr give
//                                (x / 255 - M) / S; without any, x / 255
//   shape:1,3,48,320             zeros (also `zeros`, of the shape that is known)
//   random:1,3,48,320            the same numbers every time: [0, 1) for floats, 0 to 9 for integers (also `random`)
//   16000, [1, 2], [[0.5], [1]]  numbers
//   ["a", "b"], @file.json       strings, for an input of strings
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/formats/onnx.hpp"
#include "backplane/graph/host_tensor.hpp"

namespace backplane::cli {

using Shape = std::vector<int64_t>;

// "1,3,48,320"; "" is a scalar. Errors: usage_error.
Result<Shape> parse_shape(const std::string& text);

// The value that `text` stands for; `shape` is what --shape says of the input, if it does. Errors: usage_error for a
// form that is none of the above; what reading the file reports; invalid_argument for what the input cannot take.
Result<HostTensor> parse_input_value(const OnnxInput& input, const std::optional<Shape>& shape,
                                     const std::string& text);

// The same for an input of strings.
Result<OnnxText> parse_input_text(const OnnxInput& input, const std::string& text);

}  // namespace backplane::cli
