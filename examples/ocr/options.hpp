// The command line of the example.
#pragma once

#include <string>

#include "backplane/base/status.hpp"

namespace ocr {

struct Options {
  std::string image;
  std::string models = "models";  // folder of ppocr-det.onnx, ppocr-cls.onnx, ppocr-rec.onnx and ppocr-keys.txt
  std::string devices;            // "cpu0,gpu0"; empty = all
  bool json = false;
};

inline constexpr const char* kUsage = "usage: ocr IMAGE [--models DIR] [--device A,B] [--json]";

// Errors: invalid_argument.
backplane::Result<Options> parse_options(int argc, const char* const* argv);

}  // namespace ocr
