// Binding a model's inputs: every dimension gets its extent from the model, the given shapes or the given values.
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "backplane/formats/onnx.hpp"
#include "model.hpp"

namespace backplane::onnx_import {

struct BoundInput {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  HostTensor value;              // null if none was given
  uint32_t port = 0;             // index of the model's input that this is, or is an element of
  std::optional<OnnxText> text;  // of an input of strings, always
  // Whether its value may be baked in where a shape needs it: an input of few elements.
  bool is_candidate() const;
};

// A sequence gives as many as it has elements, an optional input that is absent none. Dimensions of one name have one
// extent: binding one binds all that are left open. Errors: invalid_argument for a name that is no input (with
// did-you-mean), a wrong type or shape, and, in one list, for dimensions left open, and for strings that are not given.
Result<std::vector<BoundInput>> bind_inputs(const Model& model, const OnnxImportOptions& options);

}  // namespace backplane::onnx_import
