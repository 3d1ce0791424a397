#include "options.hpp"

#include "backplane/base/text.hpp"

namespace ocr {

using namespace backplane;

Result<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    std::string* const value = argument == "--models"   ? &options.models
                               : argument == "--device" ? &options.devices
                                                        : nullptr;
    if (argument == "--json") {
      options.json = true;
    } else if (value != nullptr) {
      if (++i == argc) return invalid_argument(cat(argument, " wants a value"));
      *value = argv[i];
    } else if (argument.rfind("--", 0) == 0 || !options.image.empty()) {
      return invalid_argument(cat("'", argument, "' is not understood"));
    } else {
      options.image = argument;
    }
  }
  if (options.image.empty()) return invalid_argument("no image is given");
  return options;
}

}  // namespace ocr
