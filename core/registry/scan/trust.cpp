#include "trust.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

Status check_one(const std::filesystem::path& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0)
    return Status(Code::permission_denied, cat("'", path.string(), "' cannot be examined: ", std::strerror(errno)),
                  "trust.unknown");
  if (info.st_uid != 0 && info.st_uid != ::geteuid())
    return Status(Code::permission_denied,
                  cat("'", path.string(), "' belongs to user ", info.st_uid,
                      ", who is neither root nor the user of this process"),
                  "trust.owner");
  const bool sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
  if (!sticky && (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Status(
        Code::permission_denied,
        cat("'", path.string(), "' can be changed by ", (info.st_mode & S_IWOTH) != 0 ? "everybody" : "its group"),
        "trust.writable");
  return {};
}

}  // namespace

Status check_trust(const std::string& real_path) {
  for (std::filesystem::path path = real_path;; path = path.parent_path()) {
    BP_TRY(check_one(path));
    if (!path.has_relative_path()) return {};
  }
}

}  // namespace backplane
