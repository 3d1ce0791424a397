// RegularFile: a file that was opened without any risk of waiting, and is known to be a plain file.
// Thread safety: a value that owns its descriptor; serialised by the caller.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "backplane/base/status.hpp"

namespace backplane {

// Which file it is, whatever its name.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
  auto operator<=>(const FileIdentity&) const = default;
};

class RegularFile {
 public:
  // Opens for reading; pipes, devices, sockets and folders are refused and never waited for. Errors: not_found
  // "file.missing", failed_precondition "file.open" or "file.not-regular"; *system_error is set to errno if given.
  static Result<RegularFile> open(const std::string& path, int* system_error = nullptr);
  ~RegularFile();
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&& other) noexcept;

  const FileIdentity& identity() const { return identity_; }
  uint64_t bytes() const { return bytes_; }  // as of open
  // Fills `target` from `offset` on. Errors: out_of_range "file.short" if the file ends before; internal "file.read".
  Status read(uint64_t offset, std::span<std::byte> target) const;
  // Errors: out_of_range "file.too-large"; as read.
  Result<std::string> read_text(uint64_t max_bytes) const;

 private:
  RegularFile(int descriptor, FileIdentity identity, uint64_t bytes)
      : descriptor_(descriptor), identity_(identity), bytes_(bytes) {}

  int descriptor_ = -1;
  FileIdentity identity_;
  uint64_t bytes_ = 0;
};

// The path with its links resolved; as it is if that cannot be done.
std::string real_path(const std::string& path);

// Whether the path is, or leads to, /dev/null: the administrator's way to say that nothing shall be there.
bool leads_to_null_device(const std::string& path);

}  // namespace backplane
