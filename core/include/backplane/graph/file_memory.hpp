// FileMemory: memory that shows what a file says, as a mapped file does. Thread safety: see evict.
#pragma once

#include <cstddef>
#include <span>

namespace backplane {

class FileMemory {
 public:
  virtual ~FileMemory() = default;

  // Takes the pages that lie within `bytes` out of the process's memory. They come back from the file when they are
  // read, which others may do at any time, from any thread.
  virtual void evict(std::span<const std::byte> bytes) const = 0;
};

}  // namespace backplane
