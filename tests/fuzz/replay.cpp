// What a fuzz target is linked with where there is no libFuzzer: runs it once for each file of the folders given, in
// the order of their names. Exit code 1: a folder is not there, or has no file.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->is_regular_file()) files.push_back(at->path());
  std::sort(files.begin(), files.end());
  return files;
}

void replay(const fs::path& path) {
  std::cout << path.string() << std::endl;  // so that the last line names the input that ends the program
  std::ifstream file(path, std::ios::binary);
  // The very size: a read beyond it shall not find spare capacity.
  const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
  const std::vector<uint8_t> bytes(text.begin(), text.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  size_t count = 0;
  for (int i = 1; i < argc; ++i) {
    const std::vector<fs::path> files = files_of(argv[i]);
    if (files.empty()) {
      std::cerr << argv[i] << " holds no input\n";
      return 1;
    }
    for (const fs::path& file : files) replay(file);
    count += files.size();
  }
  std::cout << count << " inputs replayed\n";
  return count == 0 ? 1 : 0;
}
