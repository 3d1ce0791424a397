// replace_file: writes a file as a whole. Thread safety: from any thread, also of several processes.
#pragma once

#include <string>
#include <string_view>

#include "backplane/base/status.hpp"

namespace backplane {

// Whoever reads meanwhile finds the old text or the new one, never a part; without fsync, so that either may be lost
// with the power. Folders that are missing are made, and they and the file are this user's alone. Errors:
// failed_precondition "file.write"; the old file is as it was.
Status replace_file(const std::string& path, std::string_view text);

}  // namespace backplane
