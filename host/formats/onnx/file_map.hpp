// FileMap: a file in memory, read only. Thread safety: const after opening; eviction is as FileMemory wants it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "backplane/base/status.hpp"
#include "backplane/graph/file_memory.hpp"

namespace backplane::onnx_import {

class FileMap final : public FileMemory {
 public:
  // Errors: not_found; invalid_argument for something that is not a regular file; unknown with the system's words.
  static Result<std::shared_ptr<const FileMap>> open(const std::string& path);
  ~FileMap() override;
  FileMap(const FileMap&) = delete;
  FileMap& operator=(const FileMap&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  void evict(std::span<const std::byte> bytes) const override;

 private:
  FileMap() = default;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace backplane::onnx_import
