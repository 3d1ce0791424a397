#include "base/replace_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "backplane/base/text.hpp"
#include "base/descriptor.hpp"

namespace backplane {
namespace {

void make_folders_of(const std::string& path) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
    ::mkdir(path.substr(0, at).c_str(), 0700);
}

bool write_all(const Descriptor& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(file.get(), text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    text.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

Status write_error(const std::string& path, int error) {
  return failed_precondition(cat("cannot write '", path, "': ", std::strerror(error)), "file.write");
}

}  // namespace

Status replace_file(const std::string& path, std::string_view text) {
  make_folders_of(path);
  std::string draft = path + ".XXXXXX";
  const Descriptor file(::mkostemp(draft.data(), O_CLOEXEC));
  if (!file) return write_error(path, errno);
  if (write_all(file, text) && ::rename(draft.c_str(), path.c_str()) == 0) return {};
  const int error = errno;
  ::unlink(draft.c_str());
  return write_error(path, error);
}

}  // namespace backplane
