// PluginLint: what in a plugin's library will make trouble for its users, told from the file without running it.
#pragma once

#include <string>
#include <vector>

#include "backplane/abi/plugin.h"
#include "backplane/base/status.hpp"
#include "backplane/registry/notice.hpp"

namespace backplane {

// In the order of this list: "lint.no-entry-point" (an error, the others are warnings), "lint.exported-symbol",
// "lint.unique-symbol", "lint.executable-stack", "lint.text-relocation", "lint.absolute-runpath", "lint.no-origin" (a
// needed library lies beside the plugin, where nothing leads) and "lint.no-build-id". Errors: as RegularFile::open and
// SharedObject::read.
Result<std::vector<Notice>> lint_plugin(const std::string& library_path,
                                        const std::string& entry_point = BP_ENTRY_POINT);

}  // namespace backplane
