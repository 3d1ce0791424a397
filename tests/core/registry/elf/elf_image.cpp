#include "elf_image.hpp"

#include <bit>
#include <cstring>

namespace backplane {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#else
constexpr uint16_t kMachine = EM_AARCH64;
#endif
constexpr uint64_t kBase = 0x10000;  // address - offset

template <class Record>
void append(std::string& bytes, const Record& record) {
  bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
}

void align(std::string& bytes, size_t alignment) {
  while (bytes.size() % alignment != 0) bytes += '\0';
}

class Writer {
 public:
  explicit Writer(const ElfImage& image) : image_(image), strings_(1, '\0') {}

  std::string write() {
    const size_t segments = image_.says_stack ? 4 : 3;
    body_.assign(sizeof(Elf64_Ehdr) + segments * sizeof(Elf64_Phdr), '\0');
    write_notes();
    write_symbols();
    write_dynamic();
    std::string headers;
    append(headers, header(segments));
    append(headers, segment(PT_LOAD, PF_R | PF_X, 0, body_.size(), 0x1000));
    append(headers, segment(PT_DYNAMIC, PF_R, dynamic_, body_.size() - dynamic_, 8));
    append(headers, segment(PT_NOTE, PF_R, notes_, notes_bytes_, 4));
    if (image_.says_stack)
      append(headers, segment(PT_GNU_STACK, image_.executable_stack ? PF_R | PF_W | PF_X : PF_R | PF_W, 0, 0, 16));
    return body_.replace(0, headers.size(), headers);
  }

 private:
  uint64_t text(const std::string& text) {
    const size_t at = strings_.size();
    strings_ += text + '\0';
    return at;
  }

  Elf64_Ehdr header(size_t segments) const {
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = image_.machine ? image_.machine : kMachine;
    header.e_version = EV_CURRENT;
    header.e_phoff = header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<uint16_t>(segments);
    return header;
  }

  static Elf64_Phdr segment(uint32_t type, uint32_t flags, uint64_t offset, uint64_t bytes, uint64_t alignment) {
    return {type, flags, offset, kBase + offset, kBase + offset, bytes, bytes, alignment};
  }

  void write_notes() {
    align(body_, 4);
    notes_ = body_.size();
    for (const ElfImage::Note& note : image_.notes) {
      append(body_, Elf64_Nhdr{static_cast<uint32_t>(note.owner.size() + 1), static_cast<uint32_t>(note.text.size()),
                               note.type});
      body_ += note.owner + '\0';
      align(body_, 4);
      body_ += note.text;
      align(body_, 4);
    }
    notes_bytes_ = body_.size() - notes_;
  }

  void write_symbols() {
    align(body_, 8);
    symbols_ = body_.size();
    append(body_, Elf64_Sym{});
    for (const ElfImage::Symbol& symbol : image_.symbols)
      append(body_, Elf64_Sym{static_cast<uint32_t>(text(symbol.name)),
                              static_cast<unsigned char>(ELF64_ST_INFO(symbol.binding, symbol.type)), symbol.visibility,
                              static_cast<uint16_t>(symbol.defined ? 1 : SHN_UNDEF), kBase, 0});
    hash_ = body_.size();
    const auto count = static_cast<uint32_t>(image_.symbols.size() + 1);
    append(body_, uint32_t{1});
    append(body_, count);
    for (uint32_t i = 0; i <= count; ++i) append(body_, i == count ? 0 : i);
  }

  void entry(int64_t tag, uint64_t value) { entries_.push_back({tag, {value}}); }

  void write_dynamic() {
    if (!image_.soname.empty()) entry(DT_SONAME, text(image_.soname));
    for (const std::string& name : image_.needed) entry(DT_NEEDED, text(name));
    if (!image_.rpath.empty()) entry(DT_RPATH, text(image_.rpath));
    if (!image_.runpath.empty()) entry(DT_RUNPATH, text(image_.runpath));
    if (image_.flags != 0) entry(DT_FLAGS, image_.flags);
    if (image_.flags_1 != 0) entry(DT_FLAGS_1, image_.flags_1);
    entry(DT_HASH, kBase + hash_);
    entry(DT_SYMTAB, kBase + symbols_);
    entry(DT_STRTAB, kBase + body_.size());
    entry(DT_STRSZ, strings_.size());
    entry(DT_NULL, 0);
    body_ += strings_;
    align(body_, 8);
    dynamic_ = body_.size();
    for (const Elf64_Dyn& dynamic : entries_) append(body_, dynamic);
  }

  const ElfImage& image_;
  std::string body_, strings_;
  std::vector<Elf64_Dyn> entries_;
  uint64_t notes_ = 0, notes_bytes_ = 0, symbols_ = 0, hash_ = 0, dynamic_ = 0;
};

}  // namespace

std::string ElfImage::bytes() const { return Writer(*this).write(); }

}  // namespace backplane
