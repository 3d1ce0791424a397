#include "elf_reader.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

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
constexpr uint64_t kMaxStringBytes = 64 << 10;
constexpr size_t kMaxNotes = 1024;
constexpr uint64_t kMaxOwnerBytes = 64;

template <class Record>
std::span<std::byte> bytes_of(Record& record) {
  return std::as_writable_bytes(std::span(&record, 1));
}

Status malformed(std::string_view what) {
  return failed_precondition(cat("the library is malformed: ", what), "elf.malformed");
}

Status truncated(std::string_view part, uint64_t end, uint64_t bytes) {
  return failed_precondition(cat("the library is cut off: ", part, " reaches to byte ", end, ", the file has ", bytes),
                             "elf.truncated");
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

// What a file that is not ELF seems to be instead, with "; " before it, or "".
std::string_view other_format(std::string_view start) {
  if (start.starts_with("MZ")) return "; it is a Windows file";
  if (start.starts_with("\xCF\xFA\xED\xFE") || start.starts_with("\xCA\xFE\xBA\xBE")) return "; it is a macOS file";
  if (start.starts_with("!<ar")) return "; it is an archive of objects (.a)";
  if (start.starts_with("{")) return "; it looks like JSON";
  if (std::all_of(start.begin(), start.end(), [](char c) { return c >= ' ' && c <= '~'; }))
    return "; it looks like text, perhaps a linker script that names the library";
  return "";
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
  if (header.e_phnum == 0 || header.e_phentsize != sizeof(Elf64_Phdr)) return malformed("no usable program headers");
  return {};
}

uint64_t align_up(uint64_t offset, uint64_t alignment) { return (offset + alignment - 1) / alignment * alignment; }

}  // namespace

Result<ElfReader> ElfReader::open(const RegularFile& file) {
  ElfReader reader(file);
  BP_TRY(reader.read_header());
  BP_TRY(reader.read_segments());
  return reader;
}

Status ElfReader::check_within(std::string_view part, uint64_t offset, uint64_t bytes) const {
  uint64_t end = 0;
  if (__builtin_add_overflow(offset, bytes, &end)) return malformed(cat(part, " has an impossible offset"));
  return end <= file_->bytes() ? Status() : truncated(part, end, file_->bytes());
}

Status ElfReader::read(std::string_view part, uint64_t offset, std::span<std::byte> target) const {
  BP_TRY(check_within(part, offset, target.size()));
  const Status status = file_->read(offset, target);
  // The file was cut after it had been opened, or the disk fails.
  return status.ok() ? status : failed_precondition(cat(part, ": ", status.message()), "elf.truncated");
}

Status ElfReader::read_header() {
  std::array<char, SELFMAG> magic = {};
  if (file_->bytes() < magic.size()) return truncated("the ELF header", sizeof header_, file_->bytes());
  BP_TRY(read("the ELF header", 0, bytes_of(magic)));
  if (std::memcmp(magic.data(), ELFMAG, SELFMAG) != 0)
    return failed_precondition(
        cat("this is not an ELF file, so not a Linux library", other_format({magic.data(), magic.size()})),
        "elf.magic");
  if (file_->bytes() < sizeof header_) return truncated("the ELF header", sizeof header_, file_->bytes());
  BP_TRY(read("the ELF header", 0, bytes_of(header_)));
  BP_TRY(check_header(header_));
  if (header_.e_shoff == 0) return {};
  return check_within("the section header table", header_.e_shoff, uint64_t{header_.e_shnum} * header_.e_shentsize);
}

Status ElfReader::read_segments() {
  const uint64_t bytes = uint64_t{header_.e_phnum} * sizeof(Elf64_Phdr);
  BP_TRY(check_within("the program header table", header_.e_phoff, bytes));
  segments_.resize(header_.e_phnum);
  BP_TRY(read("the program header table", header_.e_phoff, std::as_writable_bytes(std::span(segments_))));
  const Elf64_Phdr* dynamic = nullptr;
  bool loadable = false;
  for (const Elf64_Phdr& segment : segments_) {
    // A segment beyond the end of the file would be mapped, and kill the process at the first touch.
    if (segment.p_type == PT_LOAD || segment.p_type == PT_DYNAMIC || segment.p_type == PT_NOTE)
      BP_TRY(check_within("a segment", segment.p_offset, segment.p_filesz));
    loadable |= segment.p_type == PT_LOAD;
    if (segment.p_type == PT_DYNAMIC && segment.p_filesz != 0) dynamic = &segment;
  }
  if (!loadable) return malformed("it has nothing to load");
  if (!dynamic) return malformed("it has no dynamic section");
  return read_dynamic(*dynamic);
}

Status ElfReader::read_dynamic(const Elf64_Phdr& segment) {
  const uint64_t count = std::min(segment.p_filesz / sizeof(Elf64_Dyn), kMaxDynamicEntries);
  std::vector<Elf64_Dyn> entries(count);
  BP_TRY(read("the dynamic section", segment.p_offset, std::as_writable_bytes(std::span(entries))));
  const auto end = std::find_if(entries.begin(), entries.end(), [](const Elf64_Dyn& e) { return e.d_tag == DT_NULL; });
  dynamic_.assign(entries.begin(), end);
  // A position-independent program has the type of a library, but says here what it is.
  if (const auto flags = dynamic_value(DT_FLAGS_1); flags && (*flags & DF_1_PIE) != 0)
    return failed_precondition("this is a program, not a library", "elf.pie");
  if (end == entries.end()) return malformed("the dynamic section has no end");
  // The system's loader finds the section by its address; had that another content, we would have checked the wrong
  // one.
  const Elf64_Phdr* holder = segment_of(segment.p_vaddr);
  if (!holder || segment.p_vaddr - holder->p_vaddr + holder->p_offset != segment.p_offset)
    return malformed("the dynamic section's address and offset disagree");
  return {};
}

std::optional<uint64_t> ElfReader::dynamic_value(int64_t tag) const {
  const auto found =
      std::find_if(dynamic_.rbegin(), dynamic_.rend(), [&](const Elf64_Dyn& e) { return e.d_tag == tag; });
  return found == dynamic_.rend() ? std::nullopt : std::optional<uint64_t>(found->d_un.d_val);
}

const Elf64_Phdr* ElfReader::segment_of(uint64_t address) const {
  const auto holds = [&](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz;
  };
  const auto found = std::find_if(segments_.begin(), segments_.end(), holds);
  return found == segments_.end() ? nullptr : &*found;
}

Result<uint64_t> ElfReader::bytes_at(std::string_view part, uint64_t address) const {
  const Elf64_Phdr* segment = segment_of(address);
  if (!segment) return malformed(cat(part, " lies outside of the file"));
  return segment->p_filesz - (address - segment->p_vaddr);
}

Status ElfReader::read_at(std::string_view part, uint64_t address, std::span<std::byte> target) const {
  BP_TRY_ASSIGN(const uint64_t available, bytes_at(part, address));
  if (available < target.size()) return malformed(cat(part, " reaches beyond its segment"));
  const Elf64_Phdr* segment = segment_of(address);
  return read(part, segment->p_offset + (address - segment->p_vaddr), target);
}

Result<std::string> ElfReader::dynamic_string(uint64_t offset) const {
  constexpr std::string_view kPart = "the dynamic string table";
  const std::optional<uint64_t> table = dynamic_value(DT_STRTAB), table_bytes = dynamic_value(DT_STRSZ);
  if (!table || !table_bytes) return malformed(cat(kPart, " is missing"));
  uint64_t address = 0;
  if (offset >= *table_bytes || __builtin_add_overflow(*table, offset, &address))
    return malformed(cat("a text lies outside of ", kPart));
  BP_TRY_ASSIGN(const uint64_t available, bytes_at(kPart, address));
  const uint64_t most = std::min({available, *table_bytes - offset, kMaxStringBytes});
  std::string text;
  while (text.size() < most) {  // most texts are short
    const uint64_t begin = text.size();
    text.resize(std::min(most, std::max<uint64_t>(128, 2 * begin)));
    const auto target = std::as_writable_bytes(std::span(text.data(), text.size())).subspan(begin);
    BP_TRY(read_at(kPart, address + begin, target));
    const size_t end = text.find('\0', begin);
    if (end != std::string::npos) return text.substr(0, end);
  }
  return malformed(cat("a text in ", kPart, " has no end"));
}

Result<std::vector<ElfNote>> ElfReader::notes() const {
  std::vector<ElfNote> notes;
  for (const Elf64_Phdr& segment : segments_)
    if (segment.p_type == PT_NOTE) BP_TRY(append_notes(segment, notes));
  return notes;
}

Status ElfReader::append_notes(const Elf64_Phdr& segment, std::vector<ElfNote>& notes) const {
  constexpr std::string_view kPart = "a note";
  const uint64_t alignment = segment.p_align == 8 ? 8 : 4, end = segment.p_filesz;
  Elf64_Nhdr header;
  for (uint64_t at = 0; at < end && end - at >= sizeof header;) {
    if (notes.size() == kMaxNotes) return malformed(cat("more than ", kMaxNotes, " notes"));
    BP_TRY(read(kPart, segment.p_offset + at, bytes_of(header)));
    const uint64_t name = at + sizeof header, text = align_up(name + header.n_namesz, alignment);
    if (text > end || header.n_descsz > end - text) return malformed("a note reaches beyond its segment");
    ElfNote& note = notes.emplace_back();
    note.owner.resize(std::min<uint64_t>(header.n_namesz, kMaxOwnerBytes));
    BP_TRY(
        read(kPart, segment.p_offset + name, std::as_writable_bytes(std::span(note.owner.data(), note.owner.size()))));
    if (!note.owner.empty() && note.owner.back() == '\0') note.owner.pop_back();
    note.type = header.n_type;
    note.offset = segment.p_offset + text;
    note.bytes = header.n_descsz;
    at = align_up(text + header.n_descsz, alignment);
  }
  return {};
}

}  // namespace backplane
