#include "hint.hpp"

#include <algorithm>
#include <iterator>

namespace backplane {
namespace {

constexpr std::string_view kAskAuthor = "this is a fault of the plugin: install another version, or tell its author";
constexpr std::string_view kCopyAgain = "copy the library again, in full";
constexpr std::string_view kNameLibrary = "name the shared object (.so) of the plugin";
constexpr std::string_view kForThisMachine = "install the plugin for this machine";
constexpr std::string_view kCorrectManifest =
    "correct the manifest; `backplane manifest check FILE` shows what is wrong with it";
constexpr std::string_view kChooseOne = "remove one of the two if you want the other";
constexpr std::string_view kOptions = "correct the option; `backplane config show --origin` shows where it comes from";
constexpr std::string_view kTryAgain = "try again; see `backplane doctor`";
constexpr std::string_view kCheckOwner = "make it and the folders above it root's or your own, writable by nobody else";
constexpr std::string_view kNoHardware = "if this machine has such hardware, see to its driver";
constexpr std::string_view kOtherVersion = "install versions of the plugin and of Backplane that fit together";

struct Hint {
  std::string_view code;  // ending in '.', every code that starts so
  std::string_view text;
};

// The first that fits counts.
constexpr Hint kHints[] = {
    {"path.relative", "write the whole path, from '/' on"},
    {"path.missing", "make the folder, or correct what names it"},
    {"path.unreadable", "allow this user to list the folder"},
    {"path.too-many", "move what is not a plugin elsewhere"},
    {"file.missing", "remove the link that leads nowhere, or install what it is to lead to"},
    {"file.open", "allow this user to read the file, or remove it"},
    {"file.not-regular", "remove it; plugins are plain files"},
    {"file.too-large", kCorrectManifest},
    {"file.read", "see to the disk or the network folder that it lies on"},
    {"file.short", kTryAgain},
    {"file.shadowed", "rename one of the two if both are wanted"},
    {"file.masked", "remove the link to /dev/null to have the plugin back"},
    {"file.duplicate", kChooseOne},
    {"manifest.platform", kForThisMachine},
    {"manifest.", kCorrectManifest},
    {"library.no-manifest",
     "if it is a plugin, put its manifest, a .json file, beside it; `backplane manifest new` writes one"},
    {"library.broken-manifest", "correct that manifest, or remove it if the library has one embedded"},
    {"library.self", "correct plugin.library_path in the manifest"},
    {"library.duplicate", kChooseOne},
    {"library.restart-needed", "restart the program to use the new one"},
    {"filter.disabled", "take back what switches it off to have it"},
    {"filter.not-selected", "add its id to BACKPLANE_PLUGINS_SELECT to have it"},
    {"plugin.duplicate-id", kChooseOne},
    {"plugin.threw", kAskAuthor},
    {"elf.truncated", kCopyAgain},
    {"elf.malformed", kCopyAgain},
    {"elf.magic", kNameLibrary},
    {"elf.type", kNameLibrary},
    {"elf.pie", kNameLibrary},
    {"elf.", kForThisMachine},
    {"trust.", kCheckOwner},
    {"pin.mismatch", "install the library that was pinned, or pin the one that is there if you trust it"},
    {"options.", kOptions},
    {"probe.no-hardware", kNoHardware},
    {"probe.failed", kAskAuthor},
    {"probe.spawn", "try again; see ulimit -a"},
    {"probe.", "tell the plugin's author; `backplane doctor --retry ID` tries it again"},
    {"dlopen.missing-library", "install the library that is missing"},
    {"dlopen.undefined-symbol", "install the libraries that the plugin was built against"},
    {"dlopen.symbol-version", "install the newer library, or the plugin for this system"},
    {"dlopen.failed", "install the plugin again; `backplane manifest check FILE` may know more"},
    {"dlopen.replaced", kTryAgain},
    {"symbol.", "name the plugin's own library and its entry point, or build it with backplane_add_plugin()"},
    {"negotiate.incompatible", kOtherVersion},
    {"negotiate.id-mismatch", "name the library that belongs to this manifest"},
    {"negotiate.", kAskAuthor},
    {"open.no-hardware", kNoHardware},
    {"open.failed", "see to what the plugin says; its options are in `backplane config show --origin`"},
    {"open.", kAskAuthor},
    {"tables.", kAskAuthor},
    {"enumerate.", kAskAuthor},
    {"abi.", kAskAuthor},
};

}  // namespace

std::string_view hint_of(std::string_view code) {
  const auto fits = [code](const Hint& hint) {
    return hint.code.ends_with('.') ? code.starts_with(hint.code) : code == hint.code;
  };
  const auto found = std::find_if(std::begin(kHints), std::end(kHints), fits);
  return found == std::end(kHints) ? std::string_view() : found->text;
}

}  // namespace backplane
