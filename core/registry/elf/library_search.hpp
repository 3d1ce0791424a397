// LibrarySearch: where the system's loader looks for one library that another one needs, by the rules of ld.so(8).
//
// Files are opened and read, never run, and remembered with what was (not) found. Thread safety: serialised by the
// caller.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/registry/environment.hpp"
#include "base/regular_file.hpp"
#include "library_cache.hpp"
#include "shared_object.hpp"

namespace backplane {

// A file as it was when it was first looked at.
struct LibraryFile {
  std::string path;       // as it was found, so that $ORIGIN is its folder
  std::string real_path;  // links resolved
  FileIdentity identity;
  uint64_t bytes = 0;
  int64_t changed_ns = 0;  // st_ctim
  Status verdict;          // of SharedObject::read
  SharedObject object;     // if the verdict is ok
};

// Whatever is particular to the one that needs the library; folders without variables.
struct SearchPath {
  std::vector<std::string> rpath;  // of it and of those that led to it; empty if it has a RUNPATH
  std::vector<std::string> runpath;
  bool default_folders = true;
};

struct SearchResult {
  const LibraryFile* file = nullptr;         // what the loader would take, if only to fail at it; null = nothing
  const LibraryFile* passed_over = nullptr;  // the first one for another machine, which the loader skips
};

class LibrarySearch {
 public:
  LibrarySearch(const Environment& environment, const std::string& cache_path);

  // The file at that path, or null if none can be opened there.
  const LibraryFile* open(const std::string& path);
  // Looks `name` up: RPATH, LD_LIBRARY_PATH, RUNPATH, cache, the system's folders, each with its glibc-hwcaps
  // sub-folders for this processor. A name with a slash is a path.
  SearchResult find(const std::string& name, const SearchPath& where);

  // The folders (or names) that `owner` gives, with $ORIGIN, $LIB and $PLATFORM replaced.
  std::vector<std::string> expand(const std::vector<std::string>& texts, const LibraryFile& owner) const;
  const std::vector<std::string>& library_path() const { return library_path_; }

 private:
  SearchResult find_anew(const std::string& name, const SearchPath& where);
  // Whether the search ends with this file; notes it in `result`.
  bool settles(const std::string& path, SearchResult& result);
  bool look_in(const std::string& folder, const std::string& name, SearchResult& result);
  bool look_in_cache(const std::string& name, bool default_folders, SearchResult& result);
  bool is_folder(const std::string& path);

  std::map<std::string, bool> folders_;    // whether there is one; first, since the initialisers below ask
  std::vector<std::string> library_path_;  // LD_LIBRARY_PATH
  std::vector<std::string> levels_;        // of the processor, best first, such as "x86-64-v3"
  std::string lib_;                        // for $LIB
  LibraryCache cache_;
  std::map<std::string, LibraryFile> files_;
  std::map<std::string, SearchResult> searches_;
};

}  // namespace backplane
