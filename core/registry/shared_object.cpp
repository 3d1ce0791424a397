#include "shared_object.hpp"

#include <elf.h>

#include <bit>
#include <cstring>
#include <string_view>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
#error "name this machine's ELF number here"
#endif
constexpr uint8_t kByteOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
constexpr uint64_t kMaxDynamicEntries = 4096;

// Reads a record; the reader has checked nothing but the file's end.
template <class Record>
Status read_record(const RegularFile& file, uint64_t offset, Record& record) {
  return file.read(offset, std::as_writable_bytes(std::span(&record, 1)));
}

Status truncated(std::string_view part, uint64_t end, uint64_t bytes) {
  return failed_precondition(cat("the library is cut off: ", part, " reaches to byte ", end, ", the file has ", bytes),
                             "elf.truncated");
}

// Fails unless [offset, offset + bytes) lies within the file.
Status check_within(const RegularFile& file, std::string_view part, uint64_t offset, uint64_t bytes) {
  uint64_t end = 0;
  if (__builtin_add_overflow(offset, bytes, &end))
    return failed_precondition(cat("the library is malformed: ", part, " has an impossible offset"), "elf.malformed");
  return end <= file.bytes() ? Status() : truncated(part, end, file.bytes());
}

std::string_view machine_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "aarch64";
    case EM_386:
      return "x86 (32-bit)";
    case EM_ARM:
      return "arm (32-bit)";
    case EM_RISCV:
      return "riscv";
    case EM_PPC64:
      return "ppc64";
    case EM_S390:
      return "s390x";
    default:
      return "another machine";
  }
}

Status read_identity(const RegularFile& file, Elf64_Ehdr& header) {
  if (file.bytes() < SELFMAG) return truncated("the ELF header", sizeof header, file.bytes());
  unsigned char ident[EI_NIDENT] = {};
  BP_TRY(file.read(0, std::as_writable_bytes(std::span(ident, SELFMAG))));
  if (std::memcmp(ident, ELFMAG, SELFMAG) != 0)
    return failed_precondition("this is not an ELF file, so not a Linux library", "elf.magic");
  if (file.bytes() < sizeof header) return truncated("the ELF header", sizeof header, file.bytes());
  return read_record(file, 0, header);
}

Status check_header(const Elf64_Ehdr& header) {
  if (header.e_ident[EI_CLASS] != ELFCLASS64)
    return failed_precondition("the library is not a 64-bit one, as this process needs", "elf.class");
  if (header.e_ident[EI_DATA] != kByteOrder)
    return failed_precondition("the library has the other byte order", "elf.byte-order");
  if (header.e_machine != kMachine)
    return failed_precondition(cat("the library is for ", machine_name(header.e_machine), " (", header.e_machine,
                                   "), this process runs on ", machine_name(kMachine)),
                               "elf.machine");
  if (header.e_type != ET_DYN)
    return failed_precondition(cat("the ELF file is of type ", header.e_type, ", not a shared object (", ET_DYN, ")"),
                               "elf.type");
  if (header.e_phnum == 0 || header.e_phentsize != sizeof(Elf64_Phdr))
    return failed_precondition("the library is malformed: no usable program headers", "elf.malformed");
  return {};
}

// A position-independent program has the type of a library, but says what it is in its dynamic section.
Status check_dynamic(const RegularFile& file, const Elf64_Phdr& segment) {
  const uint64_t count = segment.p_filesz / sizeof(Elf64_Dyn);
  for (uint64_t i = 0; i < count && i < kMaxDynamicEntries; ++i) {
    Elf64_Dyn entry;
    BP_TRY(read_record(file, segment.p_offset + i * sizeof entry, entry));
    if (entry.d_tag == DT_NULL) return {};
    if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE) != 0)
      return failed_precondition("this is a program, not a library", "elf.pie");
  }
  return {};
}

// A segment beyond the end of the file would be mapped, and kill the process at the first touch.
Status check_segments(const RegularFile& file, const Elf64_Ehdr& header) {
  bool loadable = false;
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    BP_TRY(read_record(file, header.e_phoff + uint64_t{i} * sizeof segment, segment));
    if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC) continue;
    BP_TRY(check_within(file, "a segment", segment.p_offset, segment.p_filesz));
    loadable |= segment.p_type == PT_LOAD;
    if (segment.p_type == PT_DYNAMIC) BP_TRY(check_dynamic(file, segment));
  }
  return loadable ? Status() : failed_precondition("the library is malformed: it has nothing to load", "elf.malformed");
}

}  // namespace

Result<SharedObject> SharedObject::read(const RegularFile& file) {
  Elf64_Ehdr header;
  BP_TRY(read_identity(file, header));
  BP_TRY(check_header(header));
  BP_TRY(check_within(file, "the program header table", header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)));
  BP_TRY(check_segments(file, header));
  if (header.e_shoff != 0)
    BP_TRY(
        check_within(file, "the section header table", header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize));
  return SharedObject();
}

}  // namespace backplane
