// LibraryCache: where /etc/ld.so.cache says that libraries lie, as the system's loader reads it (the format
// glibc-ld.so.cache1.1, also behind the older one). Thread safety: a value.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace backplane {

class LibraryCache {
 public:
  // A file that is not there or not understood gives an empty cache: the loader then goes without it as well.
  static LibraryCache read(const std::string& path);

  // The paths for a soname, in the cache's order, for this machine only.
  std::span<const std::string> find(std::string_view soname) const;

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> paths_;
};

}  // namespace backplane
