// Trust: whether anybody but root and this user could have put a file where it is.
#pragma once

#include <string>

#include "backplane/base/status.hpp"

namespace backplane {

// Looks at the file and at every folder above it. `real_path` is absolute, links resolved. Whether the file may be
// executed does not matter. Errors: permission_denied "trust.owner" if one belongs to neither root nor this user,
// "trust.writable" if others may write to one (a folder with the sticky bit is fine).
Status check_trust(const std::string& real_path);

}  // namespace backplane
