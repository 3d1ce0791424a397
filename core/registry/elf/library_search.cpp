#include "library_search.hpp"

#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <span>
#include <string_view>

#include "backplane/base/text.hpp"
#include "backplane/registry/cpu_features.hpp"

namespace backplane {
namespace {

#if defined(__x86_64__)
constexpr std::string_view kMultiarch = "x86_64-linux-gnu";
#elif defined(__aarch64__)
constexpr std::string_view kMultiarch = "aarch64-linux-gnu";
#else
#error "name this machine's folder of Debian here"
#endif
constexpr std::string_view kLevelsFolder = "/glibc-hwcaps/";

// The folders that are built into the loaders of Debian and its kin, and of the others. Where one is not this system's,
// it holds no library for this machine.
std::vector<std::string> default_folders() {
  return {cat("/lib/", kMultiarch), cat("/usr/lib/", kMultiarch), "/lib64", "/usr/lib64", "/lib", "/usr/lib"};
}

bool is_in_default_folder(std::string_view path) {
  const std::vector<std::string> folders = default_folders();
  return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    return path.starts_with(folder) && path.substr(folder.size()).starts_with('/');
  });
}

// The levels of the x86-64 ABI supplement that the processor reaches, best first.
std::vector<std::string> processor_levels() {
  struct Level {
    const char* name;
    std::vector<std::string> features;
  };
  const Level levels[] = {{"x86-64-v2", {"ssse3", "sse4.1", "sse4.2", "popcnt"}},
                          {"x86-64-v3", {"avx2", "fma", "f16c", "bmi", "bmi2", "movbe", "lzcnt"}},
                          {"x86-64-v4", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}}};
  std::vector<std::string> reached;
  const CpuFeatures processor = CpuFeatures::detect();
  for (const Level& level : levels) {
    if (!processor.missing(level.features).empty()) break;
    reached.insert(reached.begin(), level.name);
  }
  return reached;
}

std::vector<std::string> split_library_path(std::string_view text) {
  std::vector<std::string> folders;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(":;"), text.size());
    folders.emplace_back(end == 0 ? "." : text.substr(0, end));  // as the loader does: empty = the working directory
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return folders;
}

// The length of the variable `name` at the start of `text`, which follows a '$', or 0.
size_t variable_length(std::string_view text, std::string_view name) {
  if (text.starts_with(cat("{", name, "}"))) return name.size() + 2;
  if (!text.starts_with(name)) return 0;
  const char next = text.size() > name.size() ? text[name.size()] : '/';
  return std::isalnum(static_cast<unsigned char>(next)) || next == '_' ? 0 : name.size();
}

struct Variable {
  std::string_view name;
  std::string value;
};

// What is no variable stays as it is.
std::string replace_variables(std::string_view text, std::span<const Variable> variables) {
  std::string replaced;
  for (size_t dollar = 0; (dollar = text.find('$')) != std::string_view::npos;) {
    replaced += text.substr(0, dollar);
    text.remove_prefix(dollar + 1);
    const auto found = std::find_if(variables.begin(), variables.end(),
                                    [&](const Variable& v) { return variable_length(text, v.name) != 0; });
    replaced += found == variables.end() ? "$" : found->value;
    if (found != variables.end()) text.remove_prefix(variable_length(text, found->name));
  }
  return replaced.append(text);
}

std::string parent_folder(const std::string& path) {
  std::error_code ignored;  // then the path stays relative
  const std::filesystem::path absolute = std::filesystem::absolute(path, ignored);
  return (absolute.empty() ? std::filesystem::path(path) : absolute).parent_path().string();
}

std::string search_key(const std::string& name, const SearchPath& where) {
  return cat(name, "\n", join(where.rpath, ":"), "\n", join(where.runpath, ":"), "\n", int{where.default_folders});
}

}  // namespace

LibrarySearch::LibrarySearch(const Environment& environment, const std::string& cache_path)
    : library_path_(split_library_path(environment.get("LD_LIBRARY_PATH").value_or(""))),
      levels_(processor_levels()),
      lib_(is_folder(cat("/usr/lib/", kMultiarch)) ? cat("lib/", kMultiarch) : "lib64"),
      cache_(LibraryCache::read(cache_path)) {}

const LibraryFile* LibrarySearch::open(const std::string& path) {
  const auto [at, is_new] = files_.try_emplace(path);
  LibraryFile& library = at->second;
  if (!is_new) return library.path.empty() ? nullptr : &library;
  struct stat info = {};
  const Result<RegularFile> file = RegularFile::open(path);
  const bool is_there = file.ok() || file.status().id() == "file.not-regular";
  if (!is_there || ::stat(path.c_str(), &info) != 0) return nullptr;
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  library.path = path;
  library.real_path = error ? path : real.string();
  library.identity = {info.st_dev, info.st_ino};
  library.bytes = static_cast<uint64_t>(info.st_size);
  library.changed_ns = int64_t{info.st_ctim.tv_sec} * 1'000'000'000 + info.st_ctim.tv_nsec;
  library.verdict = file.status();
  if (!file) return &library;
  Result<SharedObject> object = SharedObject::read(*file);
  library.verdict = object.status();
  if (object) library.object = std::move(*object);
  return &library;
}

std::vector<std::string> LibrarySearch::expand(const std::vector<std::string>& texts, const LibraryFile& owner) const {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): so the kernel hands pointers over
  const char* platform = reinterpret_cast<const char*>(getauxval(AT_PLATFORM));
  const Variable variables[] = {
      {"ORIGIN", parent_folder(owner.path)}, {"LIB", lib_}, {"PLATFORM", platform ? platform : ""}};
  std::vector<std::string> expanded;
  for (const std::string& text : texts) expanded.push_back(text.empty() ? "." : replace_variables(text, variables));
  return expanded;
}

bool LibrarySearch::is_folder(const std::string& path) {
  const auto [at, is_new] = folders_.try_emplace(path);
  if (is_new) {
    struct stat info = {};
    at->second = ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  }
  return at->second;
}

bool LibrarySearch::settles(const std::string& path, SearchResult& result) {
  const LibraryFile* file = open(path);
  if (!file) return false;
  if (file->verdict.id() == "elf.class" || file->verdict.id() == "elf.machine") {
    if (!result.passed_over) result.passed_over = file;
    return false;
  }
  result.file = file;
  return true;
}

bool LibrarySearch::look_in(const std::string& folder, const std::string& name, SearchResult& result) {
  if (!is_folder(folder)) return false;
  if (is_folder(cat(folder, "/glibc-hwcaps")))
    for (const std::string& level : levels_)
      if (settles(cat(folder, kLevelsFolder, level, "/", name), result)) return true;
  return settles(cat(folder, "/", name), result);
}

bool LibrarySearch::look_in_cache(const std::string& name, bool with_defaults, SearchResult& result) {
  const std::span<const std::string> paths = cache_.find(name);
  const auto try_level = [&](const std::string& level) {  // "" = those for every processor
    return std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
      const bool fits = level.empty() ? path.find(kLevelsFolder) == std::string::npos
                                      : path.find(cat(kLevelsFolder, level, "/")) != std::string::npos;
      return fits && (with_defaults || !is_in_default_folder(path)) && settles(path, result);
    });
  };
  return std::any_of(levels_.begin(), levels_.end(), try_level) || try_level("");
}

SearchResult LibrarySearch::find_anew(const std::string& name, const SearchPath& where) {
  SearchResult result;
  if (name.find('/') != std::string::npos) {
    settles(name, result);
    return result;
  }
  const auto look_in_each = [&](const std::vector<std::string>& folders) {
    return std::any_of(folders.begin(), folders.end(), [&](const auto& f) { return look_in(f, name, result); });
  };
  if (look_in_each(where.rpath) || look_in_each(library_path_) || look_in_each(where.runpath)) return result;
  if (look_in_cache(name, where.default_folders, result) || !where.default_folders) return result;
  look_in_each(default_folders());
  return result;
}

SearchResult LibrarySearch::find(const std::string& name, const SearchPath& where) {
  const std::string key = search_key(name, where);
  const auto known = searches_.find(key);
  return known != searches_.end() ? known->second : searches_.emplace(key, find_anew(name, where)).first->second;
}

}  // namespace backplane
