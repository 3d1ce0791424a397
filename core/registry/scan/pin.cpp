#include "pin.hpp"

#include <algorithm>
#include <vector>

#include "backplane/base/sha256.hpp"
#include "backplane/base/text.hpp"

namespace backplane {

Result<std::string> file_digest(const RegularFile& file) {
  std::vector<std::byte> block(std::min<uint64_t>(file.bytes(), 1 << 20));
  Sha256 hash;
  for (uint64_t at = 0; at < file.bytes();) {
    const uint64_t count = std::min<uint64_t>(block.size(), file.bytes() - at);
    const std::span<std::byte> part(block.data(), count);
    BP_TRY(file.read(at, part));
    hash.update(part);
    at += count;
  }
  return hash.finish();
}

Status check_pin(const RegularFile& file, const std::string& sha256, const std::string& who) {
  if (sha256.empty()) return {};
  BP_TRY_ASSIGN(const std::string found, file_digest(file));
  if (found == sha256) return {};
  return Status(Code::data_loss, cat(who, " wants a library with SHA-256 ", sha256, "; this one has ", found),
                "pin.mismatch");
}

}  // namespace backplane
