#include "plugin_lint.hpp"

#include <algorithm>
#include <string_view>

#include "backplane/base/text.hpp"
#include "base/regular_file.hpp"
#include "elf_reader.hpp"
#include "elf_symbols.hpp"
#include "shared_object.hpp"

namespace backplane {
namespace {

constexpr size_t kShownNames = 10;
constexpr std::string_view kOrigin = "$ORIGIN", kBracedOrigin = "${ORIGIN}";

bool is_at_origin(const std::string& folder) {
  return folder.starts_with(kOrigin) || folder.starts_with(kBracedOrigin);
}

std::string shown(const std::vector<std::string>& names) {
  const size_t count = std::min(names.size(), kShownNames);
  const std::string text = join(std::span(names).first(count), ", ");
  return count == names.size() ? text : cat(text, ", and ", names.size() - count, " more");
}

class PluginLint {
 public:
  PluginLint(const std::string& path, const ElfReader& reader, const SharedObject& object)
      : path_(path), reader_(reader), object_(object) {}

  Result<std::vector<Notice>> check(const std::string& entry_point) {
    BP_TRY(check_symbols(entry_point));
    check_stack();
    check_text_relocations();
    check_search_path();
    if (object_.build_id.empty())
      warn("no-build-id", "the library has no build id, so crash reports cannot be matched with its symbols",
           "link with -Wl,--build-id");
    return std::move(notices_);
  }

 private:
  void add(Severity severity, std::string_view code, std::string message, std::string hint) {
    notices_.push_back({severity, cat("lint.", code), std::move(message), std::move(hint), path_, 0, 0});
  }
  void warn(std::string_view code, std::string message, std::string hint) {
    add(Severity::warning, code, std::move(message), std::move(hint));
  }

  Status check_symbols(const std::string& entry_point) {
    BP_TRY_ASSIGN(const std::vector<ElfSymbol> symbols, exported_symbols(reader_));
    std::vector<std::string> others, unique;
    bool has_entry_point = false;
    for (const ElfSymbol& symbol : symbols) {
      if (symbol.name == entry_point && symbol.is_function)
        has_entry_point = true;
      else
        (symbol.is_unique ? unique : others).push_back(symbol.name);
    }
    if (!has_entry_point)
      add(Severity::error, "no-entry-point", cat("the library does not export the function '", entry_point, "'"),
          "declare it with BP_EXPORT, and name it in the version script");
    if (!others.empty())
      warn(
          "exported-symbol",
          cat("besides the entry point the library exports ", counted(others.size(), "symbol", "symbols"), ": ",
              shown(others)),
          "build with -fvisibility=hidden and link with the SDK's plugin.map; another plugin may bring the same names");
    if (!unique.empty())
      warn("unique-symbol",
           cat("the library exports ", counted(unique.size(), "symbol", "symbols"),
               " that the whole process shares (STB_GNU_UNIQUE): ", shown(unique)),
           "link with the SDK's plugin.map, or compile with -fno-gnu-unique");
    return {};
  }

  void check_stack() {
    const auto segments = reader_.segments();
    const auto stack = std::find_if(segments.begin(), segments.end(),
                                    [](const Elf64_Phdr& segment) { return segment.p_type == PT_GNU_STACK; });
    if (stack != segments.end() && (stack->p_flags & PF_X) == 0) return;
    warn("executable-stack",
         cat("the library asks for an executable stack",
             stack == segments.end() ? " by not saying that it needs none" : ""),
         "find the assembly file without a .note.GNU-stack section, or link with -Wl,-z,noexecstack");
  }

  void check_text_relocations() {
    const std::optional<uint64_t> flags = reader_.dynamic_value(DT_FLAGS);
    if (!reader_.dynamic_value(DT_TEXTREL) && (!flags || (*flags & DF_TEXTREL) == 0)) return;
    warn("text-relocation", "the library's code must be changed to be loaded, which hardened systems refuse",
         "compile everything in it with -fPIC");
  }

  void check_search_path() {
    std::vector<std::string> folders = object_.runpath.empty() ? object_.rpath : object_.runpath;
    const bool leads_to_origin = std::any_of(folders.begin(), folders.end(), is_at_origin);
    folders.erase(std::remove_if(folders.begin(), folders.end(), is_at_origin), folders.end());
    folders.erase(std::unique(folders.begin(), folders.end()), folders.end());  // CMake pads with colons
    std::replace(folders.begin(), folders.end(), std::string(), std::string("the working directory (an empty entry)"));
    if (!folders.empty())
      warn("absolute-runpath", cat("the library looks for what it needs in ", shown(folders)),
           "give folders relative to the plugin: -Wl,-rpath,'$ORIGIN'; others exist on the machine that built it only");
    std::vector<std::string> beside;
    // One that names a folder is looked for there; and what it leads to, perhaps a device, is not ours to open.
    for (const std::string& name : object_.needed)
      if (name.find('/') == std::string::npos &&
          RegularFile::open(cat(path_.substr(0, path_.rfind('/') + 1), name)).ok())
        beside.push_back(name);
    if (!beside.empty() && !leads_to_origin)
      warn("no-origin", cat("the library needs ", shown(beside), " beside it, where the loader does not look"),
           "link with -Wl,-rpath,'$ORIGIN'");
  }

  const std::string& path_;
  const ElfReader& reader_;
  const SharedObject& object_;
  std::vector<Notice> notices_;
};

}  // namespace

Result<std::vector<Notice>> lint_plugin(const std::string& library_path, const std::string& entry_point) {
  BP_TRY_ASSIGN(const RegularFile file, RegularFile::open(library_path));
  BP_TRY_ASSIGN(const SharedObject object, SharedObject::read(file));
  BP_TRY_ASSIGN(const ElfReader reader, ElfReader::open(file));
  return PluginLint(library_path, reader, object).check(entry_point);
}

}  // namespace backplane
