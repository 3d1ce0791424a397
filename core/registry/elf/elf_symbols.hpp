// ElfSymbols: the symbols that a library gives to others, from its dynamic symbol table (.dynsym), which stripping
// leaves. Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "backplane/base/status.hpp"
#include "elf_reader.hpp"

namespace backplane {

struct ElfSymbol {
  std::string name;
  bool is_function = false;
  bool is_unique = false;  // STB_GNU_UNIQUE: the first library that defines it serves the whole process
};

// In the order of the table. Errors: "elf.malformed", "elf.truncated".
Result<std::vector<ElfSymbol>> exported_symbols(const ElfReader& reader);

}  // namespace backplane
