#include "shared_object.hpp"

#include <optional>
#include <string_view>

#include "backplane/base/text.hpp"
#include "backplane/sdk/manifest_note.h"
#include "elf_reader.hpp"
#include "registry/manifest/manifest.hpp"

namespace backplane {
namespace {

constexpr size_t kMaxNeeded = 1024;
constexpr uint64_t kMaxBuildIdBytes = 64;

Status malformed(std::string_view what) {
  return failed_precondition(cat("the library is malformed: ", what), "elf.malformed");
}

std::vector<std::string> split_at_colons(std::string_view text) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  for (size_t colon = 0; (colon = text.find(':')) != std::string_view::npos; text.remove_prefix(colon + 1))
    parts.emplace_back(text.substr(0, colon));
  parts.emplace_back(text);
  return parts;
}

Status read_search_path(const ElfReader& reader, int64_t tag, std::vector<std::string>& folders) {
  const std::optional<uint64_t> offset = reader.dynamic_value(tag);
  if (!offset) return {};
  BP_TRY_ASSIGN(const std::string text, reader.dynamic_string(*offset));
  folders = split_at_colons(text);
  return {};
}

Status read_dynamic(const ElfReader& reader, SharedObject& object) {
  if (const auto offset = reader.dynamic_value(DT_SONAME)) {
    BP_TRY_ASSIGN(object.soname, reader.dynamic_string(*offset));
  }
  for (const Elf64_Dyn& entry : reader.dynamic()) {
    if (entry.d_tag != DT_NEEDED) continue;
    if (object.needed.size() == kMaxNeeded) return malformed(cat("it needs more than ", kMaxNeeded, " libraries"));
    BP_TRY_ASSIGN(std::string name, reader.dynamic_string(entry.d_un.d_val));
    object.needed.push_back(std::move(name));
  }
  const std::optional<uint64_t> flags = reader.dynamic_value(DT_FLAGS_1);
  object.default_folders = !flags || (*flags & DF_1_NODEFLIB) == 0;
  BP_TRY(read_search_path(reader, DT_RPATH, object.rpath));
  return read_search_path(reader, DT_RUNPATH, object.runpath);
}

Result<std::string> read_descriptor(const ElfReader& reader, const ElfNote& note) {
  std::string bytes(note.bytes, '\0');
  BP_TRY(reader.read("a note", note.offset, std::as_writable_bytes(std::span(bytes.data(), bytes.size()))));
  return bytes;
}

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

Status read_build_id(const ElfReader& reader, const ElfNote& note, SharedObject& object) {
  if (note.bytes > kMaxBuildIdBytes) return malformed(cat("a build id of ", note.bytes, " bytes"));
  BP_TRY_ASSIGN(const std::string bytes, read_descriptor(reader, note));
  object.build_id = hex(bytes);
  return {};
}

Status read_manifest(const ElfReader& reader, const ElfNote& note, SharedObject& object) {
  if (!object.manifest.empty()) return malformed("it holds two manifests; link the note of one plugin only");
  if (note.bytes == 0) return malformed("its embedded manifest is empty");
  if (note.bytes > kManifestMaxBytes)
    return malformed(
        cat("its embedded manifest has ", note.bytes, " bytes, at most ", kManifestMaxBytes, " are allowed"));
  BP_TRY_ASSIGN(object.manifest, read_descriptor(reader, note));
  return {};
}

}  // namespace

Result<SharedObject> SharedObject::read(const RegularFile& file) {
  BP_TRY_ASSIGN(const ElfReader reader, ElfReader::open(file));
  SharedObject object;
  BP_TRY(read_dynamic(reader, object));
  BP_TRY_ASSIGN(const std::vector<ElfNote> notes, reader.notes());
  for (const ElfNote& note : notes) {
    if (note.owner == ELF_NOTE_GNU && note.type == NT_GNU_BUILD_ID) BP_TRY(read_build_id(reader, note, object));
    if (note.owner == BP_MANIFEST_NOTE_OWNER && note.type == BP_MANIFEST_NOTE_TYPE)
      BP_TRY(read_manifest(reader, note, object));
  }
  return object;
}

}  // namespace backplane
