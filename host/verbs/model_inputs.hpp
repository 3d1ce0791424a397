// A model with the values and shapes of its inputs, as --input, --shape and a folder of values give them.
// Thread safety: pure functions.
#pragma once

#include <map>
#include <string>

#include "arguments.hpp"
#include "backplane/base/status.hpp"
#include "backplane/formats/onnx.hpp"
#include "backplane/graph/host_tensor.hpp"

namespace backplane::cli {

struct LoadedModel {
  OnnxModel model;
  std::map<std::string, HostTensor> values;  // by input, of numbers
};

// Whether every input needs a value: to run a model, yes; to plan it, shapes do.
enum class InputsNeeded { shapes, values };

// Reads what the model wants, then the values, then imports. Without any --input, values come from in-NAME.npy (of
// strings: .json) in `value_folder`, if that is not empty. Errors: usage_error; not_found; invalid_argument listing
// inputs without a value; what the importer reports.
Result<LoadedModel> load_model(const ModelArguments& arguments, InputsNeeded needed, const std::string& value_folder);

}  // namespace backplane::cli
