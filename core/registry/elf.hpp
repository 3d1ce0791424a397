// ELF checks: whether a file can be loaded into this process, told from its headers alone.
#pragma once

#include "backplane/base/status.hpp"
#include "regular_file.hpp"

namespace backplane {

// Reads the headers, every offset checked against the file's size. Errors, all failed_precondition: "elf.magic",
// "elf.truncated", "elf.class", "elf.byte-order", "elf.machine", "elf.type" (not a shared object), "elf.pie" (a
// program), "elf.malformed".
Status check_shared_object(const RegularFile& file);

}  // namespace backplane
