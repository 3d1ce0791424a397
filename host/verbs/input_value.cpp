#include "input_value.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <random>

#include "backplane/base/hash.hpp"
#include "backplane/base/json.hpp"
#include "backplane/base/text.hpp"
#include "backplane/formats/image.hpp"
#include "backplane/formats/npy.hpp"
#include "common.hpp"
#include "nested_list.hpp"
#include "tensor_elements.hpp"
#include "text_value.hpp"

namespace backplane::cli {
namespace {

constexpr uint64_t kMaxLiteralBytes = 1 << 20;

bool has_suffix(const std::string& text, std::string_view suffix) {
  return text.size() >= suffix.size() && to_lower(std::string_view(text).substr(text.size() - suffix.size())) == suffix;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t from = 0;
  for (size_t at; (at = text.find(separator, from)) != std::string::npos; from = at + 1)
    parts.push_back(text.substr(from, at - from));
  parts.push_back(text.substr(from));
  return parts;
}

template <class T>
std::optional<T> parse_number(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// The shape that --shape or the model fixes, if either does.
std::optional<Shape> known_shape(const OnnxInput& input, const std::optional<Shape>& shape) {
  if (shape || !input.has_shape) return shape;
  Shape fixed;
  for (const OnnxInput::Dim& dim : input.dims) {
    if (dim.extent < 0) return std::nullopt;
    fixed.push_back(dim.extent);
  }
  return fixed;
}

// ---- shape: and random:

// Before anything is made of that shape, which may be absurd.
Status check_shape(const OnnxInput& input, const Shape& shape) {
  bool fits = !input.has_shape || shape.size() == input.dims.size();
  for (size_t i = 0; fits && input.has_shape && i < shape.size(); ++i)
    fits = input.dims[i].extent < 0 || input.dims[i].extent == shape[i];
  if (fits) return ok_status();
  return invalid_argument(cat("the model wants ", input.to_string(), ", found shape ", shape_text(shape)));
}

Result<HostTensor> filled(const OnnxInput& input, const std::optional<Shape>& shape, const std::string& word,
                          bool random) {
  const std::optional<Shape> known = known_shape(input, shape);
  if (!known)
    return invalid_argument(
        cat("input ", input.to_string(), " has open dimensions: give ", word, ":1,2,3 with its extents, or --shape"));
  BP_TRY(check_shape(input, *known));
  BP_TRY_ASSIGN(HostTensor tensor, HostTensor::zeros(input.dtype, *known));
  if (!random) return tensor;
  std::mt19937_64 engine(hash_text(input.name));
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    // The upper bits as a fraction: the standard distributions differ between libraries.
    const double fraction = static_cast<double>(engine() >> 11) * 0x1p-53;
    const Json value = is_float(input.dtype)
                           ? Json::number(fraction)
                           : Json::integer(static_cast<int64_t>(fraction * (input.dtype == DType::kBOOL ? 2 : 10)));
    BP_TRY(set_element(tensor, i, value));
  }
  return tensor;
}

// ---- @image

struct ImageRequest {
  std::string path;
  ImageScaling scaling;
};

Result<std::array<float, 3>> parse_channels(const std::string& option) {
  const std::vector<std::string> parts = split(option.substr(option.find('=') + 1), ':');
  if (parts.size() != 1 && parts.size() != 3) return usage_error(cat("'", option, "' wants one number, or a:b:c"));
  std::array<float, 3> values{};
  for (size_t i = 0; i < 3; ++i) {
    const auto number = parse_number<float>(parts[parts.size() == 1 ? 0 : i]);
    if (!number) return usage_error(cat("'", option, "' wants one number, or a:b:c"));
    values[i] = *number;
  }
  return values;
}

// Options are cut off from the end, so that a path may hold commas.
Result<ImageRequest> parse_image_request(std::string text) {
  ImageRequest request;
  for (size_t at; (at = text.rfind(',')) != std::string::npos; text.resize(at)) {
    const std::string option = text.substr(at + 1);
    if (option == "bgr") {
      request.scaling.bgr = true;
    } else if (option.rfind("mean=", 0) == 0) {
      BP_TRY_ASSIGN(request.scaling.mean, parse_channels(option));
    } else if (option.rfind("scale=", 0) == 0) {
      BP_TRY_ASSIGN(request.scaling.scale, parse_channels(option));
      const auto& scale = request.scaling.scale;
      if (std::count(scale.begin(), scale.end(), 0.0f) != 0) return usage_error("scale=0 divides by zero");
    } else {
      break;
    }
  }
  request.path = text;
  return request;
}

// [N, 3, H, W] with -1 for what is open.
Result<Shape> image_shape(const OnnxInput& input, const std::optional<Shape>& shape) {
  Shape extents = shape.value_or(Shape());
  if (!shape)
    for (const OnnxInput::Dim& dim : input.dims) extents.push_back(dim.extent);
  if (!shape && !input.has_shape) extents = {-1, -1, -1, -1};
  const bool fits = extents.size() == 4 && (extents[0] == 1 || extents[0] < 0) && (extents[1] == 3 || extents[1] < 0) &&
                    extents[2] != 0 && extents[3] != 0 && input.dtype == DType::kF32;
  if (!fits)
    return invalid_argument(cat("input ", input.to_string(), " cannot take an image: that needs f32 [1, 3, H, W]"));
  return extents;
}

Result<HostTensor> read_image_value(const OnnxInput& input, const std::optional<Shape>& shape,
                                    const ImageRequest& request) {
  BP_TRY_ASSIGN(const Shape extents, image_shape(input, shape));
  BP_TRY_ASSIGN(const Image image, read_image(request.path));
  const int64_t height = extents[2] < 0 ? image.height : extents[2];
  const int64_t width = extents[3] < 0 ? image.width : extents[3];
  if (height > kMaxImageSide || width > kMaxImageSide)
    return invalid_argument(cat("input ", input.to_string(), " is larger than images may be"));
  return image_tensor(resize_image(image, static_cast<uint32_t>(width), static_cast<uint32_t>(height)),
                      request.scaling);
}

Result<HostTensor> read_file_value(const OnnxInput& input, const std::optional<Shape>& shape, const std::string& text) {
  BP_TRY_ASSIGN(const ImageRequest request, parse_image_request(text));
  for (const char* suffix : {".png", ".jpg", ".jpeg"})
    if (has_suffix(request.path, suffix)) return read_image_value(input, shape, request);
  if (has_suffix(text, ".npy")) return read_npy(text);
  return usage_error(cat("--input ", input.name, "=@", text, ": known files are .npy, .png, .jpg and .jpeg"));
}

// ---- numbers

Result<HostTensor> parse_literal(const OnnxInput& input, const std::optional<Shape>& shape, const std::string& text) {
  const std::string option = cat("--input ", input.name, "=", text);
  const Result<Json> json = parse_json(text, option, {kMaxLiteralBytes, 32});
  if (!json.ok()) return usage_error(cat(option, ": neither @file, shape:..., random:... nor numbers; see --help"));
  Result<NestedList> list = flatten_list(*json);
  if (!list.ok()) return list.status().with_context(option);
  Shape& extents = list->shape;
  // A plain number is meant for an input of one element, whatever its rank.
  const std::optional<Shape> known = known_shape(input, shape);
  if (extents.empty() && known && std::all_of(known->begin(), known->end(), [](int64_t e) { return e == 1; }))
    extents = *known;
  else if (extents.empty() && input.has_shape && input.dims.size() == 1)
    extents = {1};
  BP_TRY_ASSIGN(HostTensor tensor, HostTensor::zeros(input.dtype, extents));
  for (size_t i = 0; i < list->items.size(); ++i)
    if (const Status status = set_element(tensor, static_cast<int64_t>(i), *list->items[i]); !status.ok())
      return status.with_context(option);
  return tensor;
}

}  // namespace

Result<Shape> parse_shape(const std::string& text) {
  Shape shape;
  if (text.empty()) return shape;
  for (const std::string& part : split(text, ',')) {
    const auto extent = parse_number<int64_t>(part);
    if (!extent || *extent < 0) return usage_error(cat("'", text, "' is not a shape like 1,3,48,320"));
    shape.push_back(*extent);
  }
  return shape;
}

Result<HostTensor> parse_input_value(const OnnxInput& input, const std::optional<Shape>& shape,
                                     const std::string& text) {
  if (!is_plain(input.dtype)) return unimplemented(cat("input ", input.to_string(), " is of a quantised type"));
  if (!text.empty() && text[0] == '@') return read_file_value(input, shape, text.substr(1));
  for (const char* word : {"shape", "zeros", "random"}) {
    const bool random = word[0] == 'r';
    if (text == word) return filled(input, shape, word, random);
    if (text.rfind(cat(word, ':'), 0) != 0) continue;
    BP_TRY_ASSIGN(const Shape extents, parse_shape(text.substr(std::string_view(word).size() + 1)));
    return filled(input, extents, word, random);
  }
  return parse_literal(input, shape, text);
}

Result<OnnxText> parse_input_text(const OnnxInput& input, const std::string& text) {
  if (text.rfind('@', 0) == 0) {
    if (has_suffix(text, ".json")) return read_text(text.substr(1));
    return usage_error(cat("--input ", input.name, "=", text, ": strings come from a .json file"));
  }
  const std::string option = cat("--input ", input.name, "=", text);
  const Result<OnnxText> parsed = parse_text(text, option);
  if (!parsed.ok()) return usage_error(cat(option, ": wants JSON such as [\"a\", \"b\"], or @file.json with it"));
  return parsed;
}

}  // namespace backplane::cli
