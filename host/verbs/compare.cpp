#include "compare.hpp"

#include <cmath>
#include <filesystem>
#include <set>

#include "backplane/base/text.hpp"
#include "backplane/formats/npy.hpp"
#include "backplane/graph/element.hpp"
#include "tensor_files.hpp"
#include "text_value.hpp"

namespace backplane::cli {
namespace {

std::string number_text(double value) {
  if (std::isfinite(value)) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return text;
  }
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json number_json(double value) { return std::isfinite(value) ? Json::number(value) : Json::text(number_text(value)); }

// bf16 has no .npy type: it is written as f32, which holds its values exactly.
bool same_type(DType got, DType expected) {
  return got == expected || (got == DType::kBF16 && expected == DType::kF32);
}

Status check_no_strangers(const std::string& folder, const std::set<std::string>& known) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    if (file.rfind("out-", 0) == 0 && known.count(file) == 0)
      return invalid_argument(cat("'", entry.path().string(), "' belongs to no output of the model"));
  }
  return ok_status();
}

Result<std::string> find_expected(const std::string& folder, const std::string& name, std::string_view suffix,
                                  std::set<std::string>& files) {
  std::string path = find_tensor_file(folder, "out-", name, suffix);
  if (path.empty())
    return not_found(cat("--compare: there is no ", tensor_file_name("out-", name, suffix), " in '", folder, "'"));
  files.insert(std::filesystem::path(path).filename().string());
  return path;
}

Comparison compare_texts(const std::string& name, const OnnxText& got, const OnnxText& expected) {
  Comparison result;
  result.name = name;
  result.elements = static_cast<int64_t>(got.elements.size());
  if (got.shape != expected.shape || got.elements != expected.elements)
    result.fault = cat("got ", got.to_string(), ", expected ", expected.to_string());
  return result;
}

}  // namespace

Comparison compare_tensors(const std::string& name, const HostTensor& got, const HostTensor& expected,
                           const Tolerance& tolerance) {
  Comparison result;
  result.name = name;
  if (!same_type(got.dtype(), expected.dtype()) || got.shape() != expected.shape()) {
    result.fault = cat("got ", got.to_string(), ", expected ", expected.to_string());
    return result;
  }
  static_cast<TensorDifference&>(result) = tensor_difference(got, expected, tolerance);
  if (result.worst >= 0) result.worst_index = index_text(got, result.worst);
  return result;
}

std::string Comparison::to_string() const {
  if (!fault.empty()) return cat("output ", name, ": DIFFERS, ", fault);
  std::string text = cat("output ", name, ": ", fits() ? "fits" : "DIFFERS", ", ");
  if (mismatches != 0) text += cat(mismatches, " of ");
  text += cat(elements, " elements, max abs error ", number_text(max_absolute), ", max rel error ",
              number_text(max_relative));
  if (worst >= 0)
    text += cat(", worst at ", worst_index, ": got ", number_text(got), ", expected ", number_text(expected));
  return text;
}

Json Comparison::to_json() const {
  return Json::object({{"output", Json::text(name)},
                       {"fits", Json::boolean(fits())},
                       {"elements", Json::integer(elements)},
                       {"mismatches", Json::integer(mismatches)},
                       {"max_absolute", number_json(max_absolute)},
                       {"max_relative", number_json(max_relative)},
                       {"worst_index", Json::text(worst_index)},
                       {"got", number_json(got)},
                       {"expected", number_json(expected)},
                       {"fault", Json::text(fault)}});
}

Result<std::vector<Comparison>> compare_with_folder(const std::vector<std::pair<std::string, HostTensor>>& outputs,
                                                    const std::vector<std::pair<std::string, OnnxText>>& texts,
                                                    const std::string& folder, const Tolerance& tolerance) {
  std::vector<Comparison> comparisons;
  std::set<std::string> files;
  for (const auto& [name, value] : outputs) {
    BP_TRY_ASSIGN(const std::string path, find_expected(folder, name, kNumbersSuffix, files));
    BP_TRY_ASSIGN(const HostTensor expected, read_npy(path));
    comparisons.push_back(compare_tensors(name, value, expected, tolerance));
  }
  for (const auto& [name, text] : texts) {
    BP_TRY_ASSIGN(const std::string path, find_expected(folder, name, kTextSuffix, files));
    BP_TRY_ASSIGN(const OnnxText expected, read_text(path));
    comparisons.push_back(compare_texts(name, text, expected));
  }
  BP_TRY(check_no_strangers(folder, files));
  if (comparisons.empty()) return invalid_argument("--compare: nothing compared, the model has no outputs");
  return comparisons;
}

}  // namespace backplane::cli
