#include "library.hpp"

#define BOOST_DLL_USE_STD_FS
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <cinttypes>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

// Boost's list of modes lacks RTLD_NODELETE but hands unknown bits on.
constexpr auto kMode = static_cast<boost::dll::load_mode::type>(
    static_cast<int>(boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local) | RTLD_NODELETE);

const link_map* map_of(void* handle) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map : nullptr;
}

// Whether the process has a library of that path already.
bool is_resident(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle) dlclose(handle);
  return handle != nullptr;
}

// The file behind the mapping that an address lies in, as the kernel names it; empty if it does not tell. A file that
// was replaced since is "... (deleted)".
std::string mapped_file(const void* address) {
  std::ifstream maps("/proc/self/maps");
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &begin, &end, &path_at) != 2)
      continue;
    if (wanted >= begin && wanted < end) return line.substr(std::min<size_t>(path_at, line.size()));
  }
  return {};
}

// What is mapped just now is the file of that name. For what was mapped earlier the kernel is asked, because a file
// that has taken another's place has taken its name too; where it does not tell, the name has to do.
bool is_mapped_from(const link_map& map, const FileIdentity& file, bool resident) {
  std::string path = resident ? mapped_file(map.l_ld) : std::string();
  if (path.empty()) path = map.l_name;
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && FileIdentity{info.st_dev, info.st_ino} == file;
}

// The system's own words, out of Boost's "... (dlerror system message: WORDS): generic text".
std::string loader_text(std::string_view text) {
  constexpr std::string_view kBefore = "(dlerror system message: ";
  const size_t begin = text.find(kBefore);
  const size_t end = text.rfind("): ");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return std::string(text);
  return std::string(text.substr(begin + kBefore.size(), end - begin - kBefore.size()));
}

}  // namespace

struct Library::Handle {
  boost::dll::shared_library library;
};

Library::Library(std::unique_ptr<Handle> handle, std::string path)
    : handle_(std::move(handle)), path_(std::move(path)) {}
Library::~Library() = default;
Library::Library(Library&&) noexcept = default;
Library& Library::operator=(Library&&) noexcept = default;

Result<Library> Library::load(const std::string& path, const FileIdentity& checked) {
  const bool resident = is_resident(path);
  auto handle = std::make_unique<Handle>();
  try {  // the overload with an error code loses the system's text
    handle->library.load(std::filesystem::path(path), kMode);
  } catch (const std::exception& error) {
    return failed_precondition(cat("cannot load '", path, "': ", loader_text(error.what())), "dlopen.failed");
  }
  const link_map* map = map_of(handle->library.native());
  if (map && is_mapped_from(*map, checked, resident)) return Library(std::move(handle), map->l_name);
  if (resident)
    return failed_precondition(cat("this process has had another file of the path '", path, "' since earlier"),
                               "library.restart-needed");
  return failed_precondition(cat("'", path, "' was replaced while it was loaded; try again"), "dlopen.replaced");
}

Result<bp_get_proc_address_fn> Library::entry_point(const std::string& name) const {
  bp_get_proc_address_fn entry = nullptr;
  try {
    entry = &handle_->library.get<bp_proc(const char*)>(name);
  } catch (const std::exception&) {
    return not_found(cat("the library does not export '", name, "'"), "symbol.missing");
  }
  Dl_info info = {};
  link_map* owner = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(entry), &info, reinterpret_cast<void**>(&owner), RTLD_DL_LINKMAP) == 0 ||
      owner != map_of(handle_->library.native()))
    return failed_precondition(
        cat("'", name, "' is not the library's own but comes from ", info.dli_fname ? info.dli_fname : "elsewhere"),
        "symbol.elsewhere");
  return entry;
}

}  // namespace backplane
