// ScratchFolder: a folder of its own for a fuzz target that has to go through files; gone with the object.
// Thread safety: serialised by the caller.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace backplane {

class ScratchFolder {
 public:
  ScratchFolder() : path_(std::filesystem::temp_directory_path() / "backplane-fuzz-XXXXXX") {
    if (!::mkdtemp(path_.data())) throw std::runtime_error("cannot make a folder for temporary files");
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  // Replaces what the file holds; returns its path.
  std::string write(std::string_view name, std::string_view text) const {
    std::string path = path_ + "/" + std::string(name);
    std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
    return path;
  }

 private:
  std::string path_;
};

}  // namespace backplane
