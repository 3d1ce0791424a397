#include "model_inputs.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"
#include "backplane/formats/npy.hpp"
#include "common.hpp"
#include "input_value.hpp"
#include "tensor_files.hpp"

namespace backplane::cli {
namespace {

using Inputs = std::vector<OnnxInput>;

std::string list_text(const Inputs& inputs) {
  std::vector<std::string> texts;
  for (const OnnxInput& input : inputs) texts.push_back(input.to_string());
  return join(texts, "; ");
}

Result<const OnnxInput*> find_input(const Inputs& inputs, const std::string& name, std::string_view option) {
  std::vector<std::string> names;
  for (const OnnxInput& input : inputs) {
    if (input.name == name) return &input;
    names.push_back(input.name);
  }
  return invalid_argument(cat(option, " ", name, ": the model has no such input", did_you_mean(name, names),
                              "; it has ", list_text(inputs)));
}

Result<std::map<std::string, Shape>> read_shapes(const Inputs& inputs, const std::vector<std::string>& arguments) {
  std::map<std::string, Shape> shapes;
  for (const std::string& argument : arguments) {
    BP_TRY_ASSIGN(const NamedText named, split_named(argument, "--shape"));
    BP_TRY(find_input(inputs, named.name, "--shape").status());
    BP_TRY_ASSIGN(Shape shape, parse_shape(named.text));
    if (!shapes.emplace(named.name, std::move(shape)).second)
      return usage_error(cat("--shape ", named.name, " is given twice"));
  }
  return shapes;
}

Status read_values(const Inputs& inputs, const std::vector<std::string>& arguments,
                   const std::map<std::string, Shape>& shapes, std::map<std::string, HostTensor>& values) {
  for (const std::string& argument : arguments) {
    BP_TRY_ASSIGN(const NamedText named, split_named(argument, "--input"));
    BP_TRY_ASSIGN(const OnnxInput* const input, find_input(inputs, named.name, "--input"));
    const auto shape = shapes.find(named.name);
    BP_TRY_ASSIGN(
        HostTensor value,
        parse_input_value(*input, shape == shapes.end() ? std::nullopt : std::optional(shape->second), named.text));
    if (!values.emplace(named.name, std::move(value)).second)
      return usage_error(cat("--input ", named.name, " is given twice"));
  }
  return ok_status();
}

Status read_folder(const Inputs& inputs, const std::string& folder, std::map<std::string, HostTensor>& values) {
  for (const OnnxInput& input : inputs) {
    const std::string path = find_tensor_file(folder, "in-", input.name);
    if (path.empty()) continue;
    BP_TRY_ASSIGN(values[input.name], read_npy(path));
  }
  return ok_status();
}

Status check_all_given(const Inputs& inputs, const std::map<std::string, HostTensor>& values,
                       const std::string& folder) {
  Inputs missing;
  std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(missing),
               [&](const OnnxInput& input) { return values.count(input.name) == 0; });
  if (missing.empty()) return ok_status();
  const std::string searched =
      folder.empty() ? "" : cat(" (there is no ", tensor_file_name("in-", missing[0].name), " in '", folder, "')");
  return invalid_argument(cat("no value for ", list_text(missing), searched,
                              "; give each with --input NAME=VALUE, such as --input ", missing[0].name, "=@file.npy"));
}

}  // namespace

Result<LoadedModel> load_model(const ModelArguments& arguments, InputsNeeded needed, const std::string& value_folder) {
  BP_TRY_ASSIGN(const Inputs inputs, read_onnx_inputs(arguments.model));
  LoadedModel loaded;
  OnnxImportOptions options;
  BP_TRY_ASSIGN(options.shapes, read_shapes(inputs, arguments.shapes));
  BP_TRY(read_values(inputs, arguments.inputs, options.shapes, loaded.values));
  const std::string folder = arguments.inputs.empty() ? value_folder : "";
  if (!folder.empty()) BP_TRY(read_folder(inputs, folder, loaded.values));
  if (needed == InputsNeeded::values) BP_TRY(check_all_given(inputs, loaded.values, folder));
  options.values = loaded.values;
  BP_TRY_ASSIGN(loaded.model, import_onnx(arguments.model, options));
  return loaded;
}

}  // namespace backplane::cli
