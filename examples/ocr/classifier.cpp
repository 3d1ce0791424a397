#include "classifier.hpp"

#include "backplane/base/text.hpp"
#include "recogniser.hpp"

namespace ocr {

using namespace backplane;

namespace {

constexpr uint32_t kWidth = 192;
constexpr float kSure = 0.9f;

}  // namespace

Result<bool> Classifier::is_upside_down(const Image& line) {
  BP_TRY_ASSIGN(const HostTensor input, line_tensor(line, kWidth));
  BP_TRY_ASSIGN(const HostTensor output, network_.run(input));
  if (output.dtype() != DType::kF32 || output.shape() != std::vector<int64_t>{1, 2})
    return invalid_argument(cat("the classifier gave ", output.to_string(), ", not the chances of 0 and 180 degrees"));
  return output.data<float>()[1] > kSure;
}

}  // namespace ocr
