#include "library_cache.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/regular_file.hpp"

namespace backplane {
namespace {

constexpr uint64_t kMaxBytes = 64 << 20;
constexpr size_t kMaxTextBytes = 4096;  // PATH_MAX
constexpr std::string_view kOldMagic = "ld.so-1.7.0", kMagic = "glibc-ld.so.cache1.1";
constexpr uint64_t kOldHeaderBytes = 16, kOldEntryBytes = 12, kHeaderBytes = 48;
constexpr uint64_t kExtension = uint64_t{1} << 62;  // the entry is for some processors, which its path names as well

#if defined(__x86_64__)
constexpr uint32_t kFlags = 0x0303;  // glibc for x86-64
#elif defined(__aarch64__)
constexpr uint32_t kFlags = 0x0a03;  // glibc for aarch64
#else
#error "name this machine's kind of library here"
#endif

struct Entry {
  uint32_t flags, name, path, unused;  // name and path: offsets from the header
  uint64_t processors;
};
static_assert(sizeof(Entry) == 24);

template <class Record>
bool read_record(std::string_view bytes, uint64_t offset, Record& record) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof record) return false;
  std::memcpy(&record, bytes.data() + offset, sizeof record);
  return true;
}

std::optional<std::string_view> text_at(std::string_view bytes, uint64_t offset) {
  if (offset >= bytes.size()) return std::nullopt;
  bytes = bytes.substr(offset, kMaxTextBytes);
  const size_t end = bytes.find('\0');
  return end == std::string_view::npos ? std::nullopt : std::optional(bytes.substr(0, end));
}

// Drops the table of the older format, behind which the newer one may lie.
std::string_view newer_part(std::string_view bytes) {
  uint32_t count = 0;
  if (!bytes.starts_with(kOldMagic) || !read_record(bytes, kOldHeaderBytes - sizeof count, count)) return bytes;
  const uint64_t end = (kOldHeaderBytes + count * kOldEntryBytes + 7) / 8 * 8;
  return bytes.substr(std::min<uint64_t>(end, bytes.size()));
}

}  // namespace

LibraryCache LibraryCache::read(const std::string& path) {
  LibraryCache cache;
  const Result<RegularFile> file = RegularFile::open(path);
  if (!file) return cache;
  const Result<std::string> text = file->read_text(kMaxBytes);
  if (!text) return cache;
  const std::string_view bytes = newer_part(*text);
  uint32_t count = 0;
  if (!bytes.starts_with(kMagic) || !read_record(bytes, kMagic.size(), count)) return cache;
  Entry entry;
  for (uint64_t i = 0; i < count && read_record(bytes, kHeaderBytes + i * sizeof entry, entry); ++i) {
    if (entry.flags != kFlags || (entry.processors & ~kExtension) >> 32 != 0) continue;
    if ((entry.processors & kExtension) == 0 && entry.processors != 0) continue;  // an older scheme, no longer followed
    const auto name = text_at(bytes, entry.name), target = text_at(bytes, entry.path);
    if (name && target && target->starts_with('/')) cache.paths_[std::string(*name)].emplace_back(*target);
  }
  return cache;
}

std::span<const std::string> LibraryCache::find(std::string_view soname) const {
  const auto found = paths_.find(soname);
  return found == paths_.end() ? std::span<const std::string>() : std::span<const std::string>(found->second);
}

}  // namespace backplane
