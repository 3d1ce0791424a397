// SharedObject: what an ELF library says about itself, read from its headers without running any of its code.
// Thread safety: a value.
#pragma once

#include <string>
#include <vector>

#include "backplane/base/status.hpp"
#include "base/regular_file.hpp"

namespace backplane {

struct SharedObject {
  std::string soname;                // empty = none
  std::vector<std::string> needed;   // DT_NEEDED, in order
  std::vector<std::string> rpath;    // DT_RPATH, split at colons, as written ($ORIGIN and all)
  std::vector<std::string> runpath;  // DT_RUNPATH, likewise
  bool default_folders = true;       // false: linked with -z nodefaultlib, so not to be looked for in the system's
  std::string build_id;              // lower-case hex; empty = none
  std::string manifest;              // the text of the embedded manifest; empty = none

  // Whether the file can be loaded into this process, and what it says. Every offset is checked against the file's
  // size. Errors, all failed_precondition: "elf.magic", "elf.truncated", "elf.class", "elf.byte-order", "elf.machine",
  // "elf.type" (not a shared object), "elf.pie" (a program), "elf.malformed" (headers, texts or notes make no sense, or
  // are beyond all measure).
  static Result<SharedObject> read(const RegularFile& file);
};

}  // namespace backplane
