#include "dependency_walk.hpp"

#include <link.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "backplane/base/hash.hpp"
#include "backplane/base/text.hpp"
#include "library_search.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// A library of the closure.
struct Member {
  const LibraryFile* file;
  std::optional<size_t> parent;    // who was first to need it; none = the library asked about
  std::vector<std::string> rpath;  // its own and that of all above it
};

std::vector<std::string> mapped_paths() {
  std::vector<std::string> paths;
  const auto append = [](dl_phdr_info* info, size_t, void* target) {
    if (info->dlpi_name && *info->dlpi_name) static_cast<std::vector<std::string>*>(target)->push_back(info->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(append, &paths);
  return paths;
}

// Follows one library's needs, nearest first, as the loader does: whoever comes later shares what is there by that
// name.
class Walker {
 public:
  explicit Walker(LibrarySearch& search) : search_(search) {}

  DependencyClosure walk(const std::string& library_path) {
    const LibraryFile* library = search_.open(library_path);
    if (!library || !library->verdict.ok()) {
      const std::string reason = library ? library->verdict.message() : "it cannot be opened";
      closure_.missing.push_back({file_name(library_path), {}, cat(library_path, ": ", reason), ""});
      return std::move(closure_);
    }
    add(*library, std::nullopt);
    for (size_t i = 0; i < members_.size(); ++i) resolve(i);
    finish();
    return std::move(closure_);
  }

 private:
  void add(const LibraryFile& file, std::optional<size_t> parent) {
    const bool is_known = std::any_of(members_.begin(), members_.end(),
                                      [&](const Member& member) { return member.file->identity == file.identity; });
    if (is_known) return;
    Member member = {&file, parent, {}};
    if (file.object.runpath.empty()) member.rpath = search_.expand(file.object.rpath, file);
    if (parent) {
      const std::vector<std::string>& above = members_[*parent].rpath;
      member.rpath.insert(member.rpath.end(), above.begin(), above.end());
    }
    members_.push_back(std::move(member));
    names_.insert(file.object.soname);
  }

  SearchPath search_path(const Member& member) const {
    const SharedObject& object = member.file->object;
    SearchPath where;
    where.runpath = search_.expand(object.runpath, *member.file);
    if (where.runpath.empty()) where.rpath = member.rpath;
    where.default_folders = object.default_folders;
    return where;
  }

  void resolve(size_t index) {
    const LibraryFile& wanting = *members_[index].file;
    const SearchPath where = search_path(members_[index]);
    for (const std::string& name : search_.expand(wanting.object.needed, wanting)) {
      if (!names_.insert(name).second) continue;
      const SearchResult result = search_.find(name, where);
      if (result.file && result.file->verdict.ok())
        add(*result.file, index);
      else if (!is_mapped(name))
        closure_.missing.push_back(describe(name, index, where, result));
    }
  }

  bool is_mapped(const std::string& name) {
    const std::vector<std::string> paths = mapped_paths();
    return std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
      const LibraryFile* file = search_.open(path);
      return file_name(path) == name || (file && file->object.soname == name);
    });
  }

  MissingLibrary describe(const std::string& name, size_t index, const SearchPath& where, const SearchResult& result) {
    MissingLibrary missing = {name, chain(index), "", ""};
    if (result.file)
      missing.reason = cat(result.file->path, " is there, but cannot be loaded: ", result.file->verdict.message());
    else if (name.find('/') != std::string::npos)
      missing.reason = "there is no such file";
    else
      missing.reason = cat("not found in ", places(where));
    if (result.passed_over)
      missing.reason += cat("; ", result.passed_over->path, " is there, but ", result.passed_over->verdict.message());
    if (!result.file) add_stray(missing, index);
    return missing;
  }

  std::vector<std::string> chain(size_t index) const {
    std::vector<std::string> paths;
    for (std::optional<size_t> at = index; at; at = members_[*at].parent)
      paths.push_back(members_[*at].file->real_path);
    std::reverse(paths.begin(), paths.end());
    return paths;
  }

  std::string places(const SearchPath& where) const {
    std::vector<std::string> places;
    const auto append = [&](std::string_view label, const std::vector<std::string>& folders) {
      if (!folders.empty()) places.push_back(cat(label, " (", join(folders, ", "), ")"));
    };
    append("RPATH", where.rpath);
    append("LD_LIBRARY_PATH", search_.library_path());
    append("RUNPATH", where.runpath);
    places.push_back(where.default_folders ? "the loader's cache or the system's folders" : "the loader's cache");
    return join(places, ", ");
  }

  // A good library that lies beside the one that needs it, or where the RUNPATH of one above leads: people expect it
  // to be found.
  void add_stray(MissingLibrary& missing, size_t index) {
    const Member& wanting = members_[index];
    const auto is_good = [&](const std::string& path) {
      const LibraryFile* file = search_.open(path);
      return file && file->verdict.ok();
    };
    for (std::optional<size_t> at = wanting.parent; at; at = members_[*at].parent) {
      const LibraryFile& above = *members_[*at].file;
      for (const std::string& folder : search_.expand(above.object.runpath, above)) {
        const std::string path = cat(folder, "/", missing.soname);
        if (!is_good(path)) continue;
        missing.reason += cat("; ", path, " is there, but the RUNPATH of ", file_name(above.path),
                              " is not used for the dependencies of ", file_name(wanting.file->path));
        missing.hint = advice(*wanting.file, folder);
        return;
      }
    }
    const std::string folder = fs::path(wanting.file->path).parent_path().string();
    const std::string path = cat(folder, "/", missing.soname);
    if (missing.soname.find('/') != std::string::npos || !is_good(path)) return;
    missing.reason += cat("; ", path, " is there, but nothing tells the loader to look there");
    missing.hint = advice(*wanting.file, folder);
  }

  static std::string advice(const LibraryFile& wanting, const std::string& folder) {
    const fs::path from = fs::path(wanting.path).parent_path();
    const fs::path way = fs::path(folder).lexically_normal().lexically_relative(from.lexically_normal());
    const std::string runpath = way.empty() || way == "." ? "$ORIGIN" : cat("$ORIGIN/", way.string());
    return cat("set the RUNPATH of ", wanting.path, " to '", runpath, "' (link it with -Wl,-rpath,'", runpath, "')");
  }

  void finish() {
    std::vector<const LibraryFile*> files;
    for (size_t i = 1; i < members_.size(); ++i) files.push_back(members_[i].file);
    std::sort(files.begin(), files.end(), [](auto* a, auto* b) { return a->real_path < b->real_path; });
    for (const LibraryFile* file : files) {
      closure_.files.push_back(file->real_path);
      for (const uint64_t part : {hash_text(file->real_path), uint64_t{file->identity.device},
                                  uint64_t{file->identity.inode}, file->bytes, static_cast<uint64_t>(file->changed_ns)})
        closure_.fingerprint = hash_combine(closure_.fingerprint, part);
    }
  }

  LibrarySearch& search_;
  std::vector<Member> members_;
  std::set<std::string> names_;  // looked for or found: each is settled once
  DependencyClosure closure_;
};

}  // namespace

struct DependencyWalk::State {
  LibrarySearch search;
};

DependencyWalk::DependencyWalk(const Environment& environment, const std::string& cache_path)
    : state_(new State{LibrarySearch(environment, cache_path)}) {}
DependencyWalk::~DependencyWalk() = default;

DependencyClosure DependencyWalk::walk(const std::string& library_path) {
  return Walker(state_->search).walk(library_path);
}

}  // namespace backplane
