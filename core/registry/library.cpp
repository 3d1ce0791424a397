#include "library.hpp"

#define BOOST_DLL_USE_STD_FS
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <boost/dll/shared_library.hpp>
#include <exception>
#include <filesystem>

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

Library::Library(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
Library::~Library() = default;
Library::Library(Library&&) noexcept = default;
Library& Library::operator=(Library&&) noexcept = default;

Result<Library> Library::load(const std::string& path, const FileIdentity& checked) {
  auto handle = std::make_unique<Handle>();
  try {  // the overload with an error code loses the system's text
    handle->library.load(std::filesystem::path(path), kMode);
  } catch (const std::exception& error) {
    return failed_precondition(cat("cannot load '", path, "': ", loader_text(error.what())), "dlopen.failed");
  }
  const link_map* map = map_of(handle->library.native());
  struct stat info = {};
  if (map == nullptr || stat(map->l_name, &info) != 0 || FileIdentity{info.st_dev, info.st_ino} != checked)
    return failed_precondition(cat("'", path, "' was replaced while it was loaded; try again"), "dlopen.replaced");
  return Library(std::move(handle));
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
