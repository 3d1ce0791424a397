// ElfReader: the records of an ELF shared object of this machine, each checked against the file's end.
//
// Goes by what the system's loader goes by, the program headers and the dynamic section, so a library without section
// headers reads the same. Nothing in the file is believed: work and memory are bounded by caps, whatever its bytes.
// Errors of every function, all failed_precondition: those of SharedObject::read. Thread safety: const access from any
// thread. Ownership: the file outlives the reader.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/base/status.hpp"
#include "base/regular_file.hpp"

namespace backplane {

// An entry of a note segment. The descriptor is left in the file until it is wanted.
struct ElfNote {
  std::string owner;  // shortened if it is longer than any name of use
  uint32_t type = 0;
  uint64_t offset = 0, bytes = 0;  // of the descriptor; lies within the file
};

class ElfReader {
 public:
  // Checks that it is a shared object that can be mapped into this process, and reads its tables of segments and
  // dynamic entries.
  static Result<ElfReader> open(const RegularFile& file);

  std::span<const Elf64_Phdr> segments() const { return segments_; }
  std::span<const Elf64_Dyn> dynamic() const { return dynamic_; }  // without the DT_NULL at the end
  // The value of the last entry with that tag, as the system's loader takes it.
  std::optional<uint64_t> dynamic_value(int64_t tag) const;

  // The text at an offset of the dynamic string table.
  Result<std::string> dynamic_string(uint64_t offset) const;
  // In the order of the file.
  Result<std::vector<ElfNote>> notes() const;

  // How many bytes from the virtual address on come from the file. `part` names what is wanted, for messages.
  Result<uint64_t> bytes_at(std::string_view part, uint64_t address) const;
  // Fills `target` from a virtual address on, from one segment.
  Status read_at(std::string_view part, uint64_t address, std::span<std::byte> target) const;
  // Fills `target` from an offset in the file.
  Status read(std::string_view part, uint64_t offset, std::span<std::byte> target) const;

 private:
  explicit ElfReader(const RegularFile& file) : file_(&file) {}
  Status read_header();
  Status read_segments();
  Status read_dynamic(const Elf64_Phdr& segment);
  Status append_notes(const Elf64_Phdr& segment, std::vector<ElfNote>& notes) const;
  Status check_within(std::string_view part, uint64_t offset, uint64_t bytes) const;
  // The segment that holds the address in the file, or null.
  const Elf64_Phdr* segment_of(uint64_t address) const;

  const RegularFile* file_;
  Elf64_Ehdr header_ = {};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Dyn> dynamic_;
};

}  // namespace backplane
