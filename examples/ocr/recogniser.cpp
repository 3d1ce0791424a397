#include "recogniser.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "backplane/base/text.hpp"

namespace ocr {

using namespace backplane;

namespace {

constexpr uint32_t kLineHeight = 48;
constexpr uint32_t kMinWidth = 320;
constexpr uint32_t kMaxWidth = 3200;
constexpr uint32_t kWidthStep = 32;  // few shapes, so that few sessions have to be prepared

const std::string& character(size_t index, const std::vector<std::string>& characters) {
  static const std::string kSpace = " ";
  return index <= characters.size() ? characters[index - 1] : kSpace;
}

}  // namespace

Result<std::vector<std::string>> read_characters(const std::string& path) {
  std::ifstream file(path);
  if (!file) return not_found(cat("cannot read the list of characters '", path, "'"));
  std::vector<std::string> characters;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    characters.push_back(line);
  }
  return characters;
}

uint32_t line_width(const Image& line) {
  return std::max<uint32_t>(1, static_cast<uint32_t>(std::ceil(double{kLineHeight} * line.width / line.height)));
}

Result<HostTensor> line_tensor(const Image& line, uint32_t width) {
  const uint32_t used = std::min(line_width(line), width);
  const ImageScaling scaling = {{0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}, true};
  BP_TRY_ASSIGN(const HostTensor picture, image_tensor(resize_image(line, used, kLineHeight), scaling));
  BP_TRY_ASSIGN(HostTensor padded, HostTensor::zeros(DType::kF32, {1, 3, kLineHeight, width}));
  for (size_t row = 0; row < size_t{3} * kLineHeight; ++row)
    std::copy_n(picture.data<float>() + row * used, used, padded.mutable_data<float>() + row * width);
  return padded;
}

TextLine decode_ctc(const float* chances, size_t steps, size_t classes, const std::vector<std::string>& characters) {
  TextLine line;
  size_t previous = 0, count = 0;
  for (size_t step = 0; step < steps; ++step, chances += classes) {
    const auto best = static_cast<size_t>(std::max_element(chances, chances + classes) - chances);
    if (best != 0 && best != previous) {
      line.text += character(best, characters);
      line.score += chances[best];
      ++count;
    }
    previous = best;
  }
  if (count != 0) line.score /= static_cast<double>(count);
  return line;
}

Result<TextLine> Recogniser::recognise(const Image& line) {
  const uint32_t wanted = std::clamp(line_width(line), kMinWidth, kMaxWidth);
  BP_TRY_ASSIGN(const HostTensor input, line_tensor(line, (wanted + kWidthStep - 1) / kWidthStep * kWidthStep));
  BP_TRY_ASSIGN(const HostTensor output, network_.run(input));
  const auto classes = static_cast<int64_t>(characters_.size() + 2);
  if (output.dtype() != DType::kF32 || output.shape().size() != 3 || output.shape()[0] != 1 ||
      output.shape()[2] != classes)
    return invalid_argument(cat("the recogniser gave ", output.to_string(), ", but with this list of characters there ",
                                "are ", classes, " classes"));
  return decode_ctc(output.data<float>(), static_cast<size_t>(output.shape()[1]), static_cast<size_t>(classes),
                    characters_);
}

}  // namespace ocr
