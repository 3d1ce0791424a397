#include "file_map.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "backplane/base/text.hpp"

namespace backplane::onnx_import {
namespace {

Status system_failure(const std::string& path) {
  const int error = errno;
  std::string text = cat("cannot read '", path, "': ", std::generic_category().message(error));
  if (error == ENOENT || error == ENOTDIR) return not_found(std::move(text));
  if (error == EACCES) return Status(Code::permission_denied, std::move(text));
  return Status(Code::unknown, std::move(text));
}

}  // namespace

Result<std::shared_ptr<const FileMap>> FileMap::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return system_failure(path);
  struct Closer {
    int file;
    ~Closer() { ::close(file); }
  } closer{file};
  struct stat info {};
  if (::fstat(file, &info) != 0) return system_failure(path);
  if (!S_ISREG(info.st_mode)) return invalid_argument(cat("'", path, "' is not a regular file"));
  std::shared_ptr<FileMap> map(new FileMap);
  if (info.st_size == 0) return std::shared_ptr<const FileMap>(map);
  void* data = ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  if (data == MAP_FAILED) return system_failure(path);
  map->data_ = static_cast<const std::byte*>(data);
  map->size_ = static_cast<size_t>(info.st_size);
  return std::shared_ptr<const FileMap>(map);
}

FileMap::~FileMap() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

// The mapping is never written, so that what it drops is what the file has.
void FileMap::evict(std::span<const std::byte> bytes) const {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t last = (begin + bytes.size()) / page * page;
  if (first >= last) return;
  void* const pages = const_cast<std::byte*>(bytes.data()) + (first - begin);
  ::madvise(pages, last - first, MADV_DONTNEED);  // an advice: where it fails, the memory stays
}

}  // namespace backplane::onnx_import
