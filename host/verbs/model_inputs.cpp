#include "model_inputs.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"
#include "backplane/formats/npy.hpp"
#include "common.hpp"
#include "input_value.hpp"
#include "tensor_files.hpp"
#include "text_value.hpp"

namespace backplane::cli {
namespace {

using Inputs = std::vector<OnnxInput>;

std::string list_text(const Inputs& inputs) {
  std::vector<std::string> texts;
  for (const OnnxInput& input : inputs) texts.push_back(input.to_string());
  return join(texts, "; ");
}

// The input, or the element of a sequence, that a name stands for.
Result<OnnxInput> find_input(const Inputs& inputs, const std::string& name, std::string_view option) {
  std::vector<std::string> names;
  for (const OnnxInput& input : inputs) {
    if (std::optional<OnnxInput> part = input.part(name)) return *std::move(part);
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

Status read_values(const Inputs& inputs, const std::vector<std::string>& arguments, OnnxImportOptions& options) {
  for (const std::string& argument : arguments) {
    BP_TRY_ASSIGN(const NamedText named, split_named(argument, "--input"));
    BP_TRY_ASSIGN(const OnnxInput input, find_input(inputs, named.name, "--input"));
    if (options.values.count(named.name) + options.texts.count(named.name) > 0)
      return usage_error(cat("--input ", named.name, " is given twice"));
    if (input.kind == OnnxInput::Kind::text) {
      BP_TRY_ASSIGN(options.texts[named.name], parse_input_text(input, named.text));
      continue;
    }
    const auto shape = options.shapes.find(named.name);
    BP_TRY_ASSIGN(options.values[named.name],
                  parse_input_value(input, shape == options.shapes.end() ? std::nullopt : std::optional(shape->second),
                                    named.text));
  }
  return ok_status();
}

// False if there is no file for that name.
Result<bool> read_file(const std::string& folder, const std::string& name, OnnxImportOptions& options) {
  const std::string path = find_tensor_file(folder, "in-", name);
  if (path.empty()) return false;
  BP_TRY_ASSIGN(options.values[name], read_npy(path));
  return true;
}

Status read_folder(const Inputs& inputs, const std::string& folder, OnnxImportOptions& options) {
  for (const OnnxInput& input : inputs) {
    if (input.kind == OnnxInput::Kind::text) {
      const std::string path = find_tensor_file(folder, "in-", input.name, kTextSuffix);
      if (path.empty()) continue;
      BP_TRY_ASSIGN(options.texts[input.name], read_text(path));
    } else if (!input.is_sequence()) {
      BP_TRY(read_file(folder, input.name, options).status());
    } else {
      bool is_there = true;
      for (size_t at = 0; is_there; ++at) {
        BP_TRY_ASSIGN(is_there, read_file(folder, cat(input.name, "[", at, "]"), options));
      }
    }
  }
  return ok_status();
}

// Sequences may be empty and optional values absent.
bool is_missing(const OnnxInput& input, const OnnxImportOptions& options) {
  if (input.kind == OnnxInput::Kind::text) return options.texts.count(input.name) == 0;
  return input.kind == OnnxInput::Kind::tensor && options.values.count(input.name) == 0;
}

Status check_all_given(const Inputs& inputs, const OnnxImportOptions& options, const std::string& folder) {
  Inputs missing;
  std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(missing),
               [&](const OnnxInput& input) { return is_missing(input, options); });
  if (missing.empty()) return ok_status();
  const bool is_text = missing[0].kind == OnnxInput::Kind::text;
  const std::string file = tensor_file_name("in-", missing[0].name, is_text ? kTextSuffix : kNumbersSuffix);
  const std::string searched = folder.empty() ? "" : cat(" (there is no ", file, " in '", folder, "')");
  return invalid_argument(cat("no value for ", list_text(missing), searched,
                              "; give each with --input NAME=VALUE, such as --input ", missing[0].name,
                              is_text ? "=@file.json" : "=@file.npy"));
}

}  // namespace

Result<LoadedModel> load_model(const ModelArguments& arguments, InputsNeeded needed, const std::string& value_folder) {
  BP_TRY_ASSIGN(const Inputs inputs, read_onnx_inputs(arguments.model));
  LoadedModel loaded;
  OnnxImportOptions options;
  BP_TRY_ASSIGN(options.shapes, read_shapes(inputs, arguments.shapes));
  BP_TRY(read_values(inputs, arguments.inputs, options));
  const std::string folder = arguments.inputs.empty() ? value_folder : "";
  if (!folder.empty()) BP_TRY(read_folder(inputs, folder, options));
  if (needed == InputsNeeded::values) BP_TRY(check_all_given(inputs, options, folder));
  BP_TRY_ASSIGN(loaded.model, import_onnx(arguments.model, options));
  loaded.values = std::move(options.values);
  return loaded;
}

}  // namespace backplane::cli
