// ElfImage: a small ELF shared object made of the given parts, for tests of what is told from files. It has no section
// headers and no code; everything is in one segment whose addresses are not its offsets.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

namespace backplane {

struct ElfImage {
  struct Note {
    std::string owner;
    uint32_t type;
    std::string text;
  };
  struct Symbol {
    std::string name;
    uint8_t binding = STB_GLOBAL;
    uint8_t type = STT_FUNC;
    uint8_t visibility = STV_DEFAULT;
    bool defined = true;
  };

  uint16_t machine = 0;  // 0 = this one
  std::string soname;
  std::vector<std::string> needed;
  std::string rpath, runpath;
  uint64_t flags = 0, flags_1 = 0;  // DT_FLAGS, DT_FLAGS_1
  std::vector<Note> notes;
  std::vector<Symbol> symbols;
  bool says_stack = true, executable_stack = false;

  std::string bytes() const;
};

}  // namespace backplane
