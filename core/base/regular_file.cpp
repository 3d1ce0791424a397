#include "base/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

Status open_error(const std::string& path, int error) {
  const std::string message = cat("cannot open '", path, "': ", std::strerror(error));
  return error == ENOENT ? not_found(message, "file.missing") : failed_precondition(message, "file.open");
}

std::string_view type_name(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

Result<RegularFile> RegularFile::open(const std::string& path, int* system_error) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  struct stat info = {};
  if (descriptor < 0 || ::fstat(descriptor, &info) != 0) {
    const int error = errno;
    if (system_error) *system_error = error;
    if (descriptor >= 0) ::close(descriptor);
    return open_error(path, error);
  }
  RegularFile file(descriptor, {info.st_dev, info.st_ino}, static_cast<uint64_t>(info.st_size));
  if (!S_ISREG(info.st_mode))
    return failed_precondition(cat("'", path, "' is ", type_name(info.st_mode), ", not a regular file"),
                               "file.not-regular");
  return file;
}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), identity_(other.identity_), bytes_(other.bytes_) {}

RegularFile& RegularFile::operator=(RegularFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(identity_, other.identity_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Status RegularFile::read(uint64_t offset, std::span<std::byte> target) const {
  while (!target.empty()) {
    if (offset > INT64_MAX) return out_of_range(cat("offset ", offset, " lies beyond any file"), "file.short");
    const ssize_t got = ::pread(descriptor_, target.data(), target.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return internal_error(cat("cannot read the file: ", std::strerror(errno)), "file.read");
    if (got == 0) return out_of_range(cat("the file ends at ", offset, " bytes"), "file.short");
    target = target.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return {};
}

Result<std::string> RegularFile::read_text(uint64_t max_bytes) const {
  if (bytes_ > max_bytes)
    return out_of_range(cat(bytes_, " bytes; at most ", max_bytes, " are read"), "file.too-large");
  std::string text(bytes_, '\0');
  BP_TRY(read(0, std::as_writable_bytes(std::span(text.data(), text.size()))));
  return text;
}

std::string real_path(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

bool leads_to_null_device(const std::string& path) {
  struct stat info = {}, null = {};
  return ::stat(path.c_str(), &info) == 0 && ::stat("/dev/null", &null) == 0 && S_ISCHR(info.st_mode) &&
         info.st_rdev == null.st_rdev;
}

}  // namespace backplane
