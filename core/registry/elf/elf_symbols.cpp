#include "elf_symbols.hpp"

#include <algorithm>
#include <array>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

constexpr uint64_t kMaxSymbols = 4 << 20;
constexpr uint64_t kMaxTextBytes = 256 << 20;

Status malformed(std::string_view what) {
  return failed_precondition(cat("the library is malformed: ", what), "elf.malformed");
}

template <class Record>
std::span<std::byte> bytes_of(std::vector<Record>& records) {
  return std::as_writable_bytes(std::span(records));
}

// The number of records of the given size from the address on, at most `most`, that the file can hold.
Result<uint64_t> room_at(const ElfReader& reader, std::string_view part, uint64_t address, uint64_t record_bytes,
                         uint64_t most) {
  BP_TRY_ASSIGN(const uint64_t bytes, reader.bytes_at(part, address));
  return std::min(bytes / record_bytes, most);
}

// DT_GNU_HASH lists the exported symbols by hash: the chain behind the last bucket ends the symbol table.
Result<uint64_t> count_by_gnu_hash(const ElfReader& reader, uint64_t table) {
  constexpr std::string_view kPart = "the symbols' hash table";
  std::array<uint32_t, 4> header = {};
  BP_TRY(reader.read_at(kPart, table, std::as_writable_bytes(std::span(header))));
  const uint64_t bucket_count = header[0], first_hashed = header[1], filter_words = header[2];
  const uint64_t buckets_at = sizeof header + filter_words * 8, chains_at = buckets_at + bucket_count * 4;
  BP_TRY_ASSIGN(const uint64_t table_bytes, reader.bytes_at(kPart, table));
  if (chains_at > table_bytes) return malformed(cat(kPart, " reaches beyond its segment"));
  std::vector<uint32_t> buckets(bucket_count);
  BP_TRY(reader.read_at(kPart, table + buckets_at, bytes_of(buckets)));
  uint64_t last = 0;
  for (const uint32_t bucket : buckets) last = std::max<uint64_t>(last, bucket);
  if (last < first_hashed) return first_hashed;  // nothing is hashed
  std::vector<uint32_t> chains(std::min((table_bytes - chains_at) / 4, kMaxSymbols));
  if (chains.empty()) return malformed(cat(kPart, " has no chains"));
  BP_TRY(reader.read_at(kPart, table + chains_at, bytes_of(chains)));
  for (uint64_t i = last - first_hashed; i < chains.size(); ++i)
    if ((chains[i] & 1) != 0) return first_hashed + i + 1;
  return malformed(cat(kPart, " has a chain without an end"));
}

// The table does not say how long it is; the hash tables do.
Result<uint64_t> count_symbols(const ElfReader& reader) {
  if (const auto table = reader.dynamic_value(DT_GNU_HASH)) return count_by_gnu_hash(reader, *table);
  const std::optional<uint64_t> table = reader.dynamic_value(DT_HASH);
  if (!table) return uint64_t{0};  // then the loader finds no symbol either
  std::array<uint32_t, 2> header = {};
  BP_TRY(reader.read_at("the symbols' hash table", *table, std::as_writable_bytes(std::span(header))));
  return uint64_t{header[1]};
}

Result<std::string> read_strings(const ElfReader& reader) {
  constexpr std::string_view kPart = "the dynamic string table";
  const std::optional<uint64_t> table = reader.dynamic_value(DT_STRTAB), bytes = reader.dynamic_value(DT_STRSZ);
  if (!table || !bytes) return malformed(cat(kPart, " is missing"));
  BP_TRY_ASSIGN(const uint64_t room, room_at(reader, kPart, *table, 1, kMaxTextBytes));
  if (*bytes > room) return malformed(cat(kPart, " reaches beyond its segment"));
  std::string text(*bytes, '\0');
  BP_TRY(reader.read_at(kPart, *table, std::as_writable_bytes(std::span(text.data(), text.size()))));
  return text;
}

bool is_exported(const Elf64_Sym& symbol) {
  const uint8_t binding = ELF64_ST_BIND(symbol.st_info), visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  return symbol.st_shndx != SHN_UNDEF && binding != STB_LOCAL &&
         (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

}  // namespace

Result<std::vector<ElfSymbol>> exported_symbols(const ElfReader& reader) {
  constexpr std::string_view kPart = "the dynamic symbol table";
  BP_TRY_ASSIGN(const uint64_t count, count_symbols(reader));
  if (count == 0) return std::vector<ElfSymbol>();
  const std::optional<uint64_t> table = reader.dynamic_value(DT_SYMTAB);
  if (!table) return malformed(cat(kPart, " is missing"));
  BP_TRY_ASSIGN(const uint64_t room, room_at(reader, kPart, *table, sizeof(Elf64_Sym), kMaxSymbols));
  if (count > room) return malformed(cat(kPart, " reaches beyond its segment"));
  std::vector<Elf64_Sym> records(count);
  BP_TRY(reader.read_at(kPart, *table, bytes_of(records)));
  BP_TRY_ASSIGN(const std::string strings, read_strings(reader));
  std::vector<ElfSymbol> symbols;
  uint64_t budget = kMaxTextBytes;  // names may overlap, so many of them can share few bytes
  for (const Elf64_Sym& record : records) {
    if (!is_exported(record)) continue;
    const size_t end = record.st_name < strings.size() ? strings.find('\0', record.st_name) : std::string::npos;
    if (end == std::string::npos) return malformed("a symbol's name lies outside of the dynamic string table");
    if (end - record.st_name > budget) return malformed("its symbols' names are too long");
    budget -= end - record.st_name;
    const uint8_t type = ELF64_ST_TYPE(record.st_info);
    symbols.push_back({strings.substr(record.st_name, end - record.st_name), type == STT_FUNC || type == STT_GNU_IFUNC,
                       ELF64_ST_BIND(record.st_info) == STB_GNU_UNIQUE});
  }
  return symbols;
}

}  // namespace backplane
