// The one place that includes stb_image.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "backplane/base/text.hpp"
#include "backplane/formats/image.hpp"

#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_MAX_DIMENSIONS 16384
#define STBI_ASSERT(condition) ((void)0)  // a library does not abort its host
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>

namespace backplane {
namespace {

static_assert(STBI_MAX_DIMENSIONS == kMaxImageSide);
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 28;

std::string failure() {
  const char* reason = stbi_failure_reason();
  return reason != nullptr ? reason : "no reason given";
}

Status check_size(uint64_t bytes, const std::string& name) {
  if (bytes <= kMaxFileBytes) return ok_status();
  return invalid_argument(
      cat("'", name, "' has ", bytes_text(bytes), "; images may have at most ", bytes_text(kMaxFileBytes)));
}

}  // namespace

Result<Image> parse_image(std::string_view bytes, const std::string& name) {
  BP_TRY(check_size(bytes.size(), name));
  const auto* data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const int size = static_cast<int>(bytes.size());
  int width = 0, height = 0, channels = 0;
  if (!stbi_info_from_memory(data, size, &width, &height, &channels))
    return invalid_argument(cat("'", name, "' is not a PNG or JPEG image: ", failure()));
  if (width <= 0 || height <= 0 || static_cast<uint64_t>(width) * static_cast<uint64_t>(height) > kMaxImagePixels)
    return invalid_argument(
        cat("'", name, "' has ", width, " x ", height, " pixels; at most ", kMaxImagePixels, " are read"));
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load_from_memory(data, size, &width, &height, &channels, 3), stbi_image_free);
  if (!pixels) return invalid_argument(cat("'", name, "' is damaged: ", failure()));
  Image image(static_cast<uint32_t>(width), static_cast<uint32_t>(height));
  std::memcpy(image.rgb.data(), pixels.get(), image.rgb.size());
  return image;
}

Result<Image> read_image(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return not_found(cat("there is no file '", path, "'"));
  if (!std::filesystem::is_regular_file(status)) return invalid_argument(cat("'", path, "' is not a regular file"));
  BP_TRY(check_size(std::filesystem::file_size(path, error), path));
  std::ifstream file(path, std::ios::binary);
  if (!file) return invalid_argument(cat("cannot read '", path, "': ", std::strerror(errno)));
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  return parse_image(bytes, path);
}

}  // namespace backplane
