#include "registry/elf/shared_object.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>

#include "backplane/sdk/manifest_note.h"
#include "elf_image.hpp"
#include "fixtures/plugin_world.hpp"
#include "memory_file.hpp"
#include "registry/manifest/manifest.hpp"

namespace backplane {
namespace {

class SharedObjectTest : public ::testing::Test {
 protected:
  SharedObjectTest() {
    std::ifstream file(fixture_library("toy"), std::ios::binary);
    image_.assign(std::istreambuf_iterator<char>(file), {});
  }
  Result<SharedObject> read(const std::string& image) {
    const MemoryFile file(image);
    return SharedObject::read(RegularFile::open(file.path()).value());
  }
  std::string check(const std::string& image) {
    const Status status = read(image).status();
    return status.ok() ? "ok" : status.id();
  }
  // The verdict on the image with its header changed.
  std::string check_header(const std::function<void(Elf64_Ehdr&)>& change) {
    std::string image = image_;
    Elf64_Ehdr header;
    std::memcpy(&header, image.data(), sizeof header);
    change(header);
    std::memcpy(image.data(), &header, sizeof header);
    return check(image);
  }

  std::string image_;
};

ElfImage full_image() {
  ElfImage image;
  image.soname = "libfull.so.1";
  image.needed = {"liba.so.1", "libb.so.2"};
  image.rpath = "/opt/lib";
  image.runpath = "$ORIGIN:${ORIGIN}/../lib::/x";
  image.flags_1 = DF_1_NODEFLIB;
  image.notes = {{"GNU", NT_GNU_ABI_TAG, std::string(16, '\0')},
                 {"GNU", NT_GNU_BUILD_ID, "\x01\xAB\xFF"},
                 {BP_MANIFEST_NOTE_OWNER, BP_MANIFEST_NOTE_TYPE + 1, "of another type"},
                 {BP_MANIFEST_NOTE_OWNER, BP_MANIFEST_NOTE_TYPE, "{\"a\": 1}\n"}};
  return image;
}

TEST_F(SharedObjectTest, AcceptsALibrary) { EXPECT_EQ(check(image_), "ok"); }

TEST_F(SharedObjectTest, ReadsWhatItSays) {
  const Result<SharedObject> object = read(full_image().bytes());
  ASSERT_TRUE(object.ok()) << object.status().message();
  EXPECT_EQ(object->soname, "libfull.so.1");
  EXPECT_EQ(object->needed, (std::vector<std::string>{"liba.so.1", "libb.so.2"}));
  EXPECT_EQ(object->rpath, std::vector<std::string>{"/opt/lib"});
  EXPECT_EQ(object->runpath, (std::vector<std::string>{"$ORIGIN", "${ORIGIN}/../lib", "", "/x"}));
  EXPECT_FALSE(object->default_folders);
  EXPECT_EQ(object->build_id, "01abff");
  EXPECT_EQ(object->manifest, "{\"a\": 1}\n");
}

TEST_F(SharedObjectTest, ReadsARealLibrary) {
  const Result<SharedObject> object = read(image_);
  ASSERT_TRUE(object.ok()) << object.status().message();
  EXPECT_EQ(std::count(object->needed.begin(), object->needed.end(), "libc.so.6"), 1);
  EXPECT_TRUE(object->default_folders);
  EXPECT_TRUE(object->manifest.empty());
}

TEST_F(SharedObjectTest, SaysLittleAboutABareOne) {
  const Result<SharedObject> object = read(ElfImage().bytes());
  ASSERT_TRUE(object.ok()) << object.status().message();
  EXPECT_EQ(object->soname, "");
  EXPECT_TRUE(object->needed.empty() && object->rpath.empty() && object->runpath.empty());
  EXPECT_EQ(object->build_id, "");
}

TEST_F(SharedObjectTest, RefusesProgramsAndOtherFiles) {
  const Result<RegularFile> self = RegularFile::open("/proc/self/exe");
  EXPECT_EQ(SharedObject::read(*self).status().id(), "elf.pie");
  EXPECT_EQ(check("INPUT ( libfoo.so.1 ) and so on, as a linker script of some length would"), "elf.magic");
  EXPECT_EQ(check(std::string(200, '\0')), "elf.magic");
}

struct WrongBinary {
  const char* file;
  const char* id;
};

class WrongBinaryTest : public ::testing::TestWithParam<WrongBinary> {};

TEST_P(WrongBinaryTest, IsRefusedForWhatItIs) {
  const std::string path = std::string(BACKPLANE_LOADER_BINARIES) + "/" + GetParam().file;
  const Result<RegularFile> file = RegularFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(SharedObject::read(*file).status().id(), GetParam().id);
}

INSTANTIATE_TEST_SUITE_P(SharedObject, WrongBinaryTest,
                         ::testing::Values(
#if defined(__x86_64__)
                             WrongBinary{"aarch64.so", "elf.machine"}, WrongBinary{"program.so", "elf.type"},
                             WrongBinary{"nothing-to-load.so", "elf.malformed"},
#else
                             WrongBinary{"x86-64.so", "elf.machine"},
#endif
                             WrongBinary{"elf32.so", "elf.class"}, WrongBinary{"riscv64.so", "elf.machine"},
                             WrongBinary{"big-endian.so", "elf.byte-order"}, WrongBinary{"cut-off.so", "elf.truncated"},
                             WrongBinary{"windows.so", "elf.magic"}, WrongBinary{"macos.so", "elf.magic"},
                             WrongBinary{"archive.so", "elf.magic"}, WrongBinary{"linker-script.so", "elf.magic"},
                             WrongBinary{"manifest.so", "elf.magic"}));

TEST_F(SharedObjectTest, TellsWhatAnotherFileSeemsToBe) {
  const auto message = [&](const char* file) {
    const std::string path = std::string(BACKPLANE_LOADER_BINARIES) + "/" + file;
    return SharedObject::read(RegularFile::open(path).value()).status().message();
  };
  EXPECT_NE(message("windows.so").find("Windows"), std::string::npos);
  EXPECT_NE(message("macos.so").find("macOS"), std::string::npos);
  EXPECT_NE(message("archive.so").find("archive"), std::string::npos);
  EXPECT_NE(message("linker-script.so").find("linker script"), std::string::npos);
  EXPECT_NE(message("manifest.so").find("JSON"), std::string::npos);
}

TEST_F(SharedObjectTest, RefusesWhatThisProcessCannotRun) {
  EXPECT_EQ(check_header([](Elf64_Ehdr& h) { h.e_ident[EI_CLASS] = ELFCLASS32; }), "elf.class");
  EXPECT_EQ(check_header([](Elf64_Ehdr& h) { h.e_ident[EI_DATA] = ELFDATA2MSB; }), "elf.byte-order");
  EXPECT_EQ(check_header([](Elf64_Ehdr& h) { h.e_machine = EM_S390; }), "elf.machine");
  EXPECT_EQ(check_header([](Elf64_Ehdr& h) { h.e_type = ET_REL; }), "elf.type");
}

TEST_F(SharedObjectTest, RefusesHeadersThatPointNowhere) {
  EXPECT_EQ(check_header([](Elf64_Ehdr& h) { h.e_phnum = 0; }), "elf.malformed");
  EXPECT_EQ(check_header([](Elf64_Ehdr& h) { h.e_phentsize = 1; }), "elf.malformed");
  EXPECT_EQ(check_header([](Elf64_Ehdr& h) { h.e_phoff = UINT64_MAX - 8; }), "elf.malformed");
  EXPECT_EQ(check_header([](Elf64_Ehdr& h) { h.e_phoff = uint64_t{1} << 62; }), "elf.truncated");
  EXPECT_EQ(check_header([](Elf64_Ehdr& h) { h.e_phnum = UINT16_MAX; }), "elf.truncated");
  EXPECT_EQ(check_header([](Elf64_Ehdr& h) { h.e_shoff = uint64_t{1} << 62; }), "elf.truncated");
}

TEST_F(SharedObjectTest, RefusesNotesThatMakeNoSense) {
  ElfImage image = full_image();
  image.notes.push_back({BP_MANIFEST_NOTE_OWNER, BP_MANIFEST_NOTE_TYPE, "{}"});
  EXPECT_EQ(check(image.bytes()), "elf.malformed") << "two manifests";
  image.notes = {{BP_MANIFEST_NOTE_OWNER, BP_MANIFEST_NOTE_TYPE, ""}};
  EXPECT_EQ(check(image.bytes()), "elf.malformed") << "no text";
  image.notes = {{BP_MANIFEST_NOTE_OWNER, BP_MANIFEST_NOTE_TYPE, std::string(kManifestMaxBytes + 1, ' ')}};
  EXPECT_EQ(check(image.bytes()), "elf.malformed") << "too long a text";
  image.notes[0].text.pop_back();
  EXPECT_EQ(check(image.bytes()), "ok");
  image.notes = {{"GNU", NT_GNU_BUILD_ID, std::string(65, 'x')}};
  EXPECT_EQ(check(image.bytes()), "elf.malformed") << "too long a build id";
  image.notes.assign(2000, {"many", 1, ""});
  EXPECT_EQ(check(image.bytes()), "elf.malformed") << "more notes than can be meant";
}

// Replaces the value of the first dynamic entry with that tag.
std::string with_dynamic(const std::string& bytes, int64_t tag, uint64_t value) {
  std::string image = bytes;
  for (size_t at = image.size() - sizeof(Elf64_Dyn); at > 0; at -= sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    std::memcpy(&entry, image.data() + at, sizeof entry);
    if (entry.d_tag != tag) continue;
    entry.d_un.d_val = value;
    std::memcpy(image.data() + at, &entry, sizeof entry);
    return image;
  }
  return "no such entry";
}

TEST_F(SharedObjectTest, RefusesTextsThatLieNowhere) {
  const std::string good = full_image().bytes();
  ASSERT_EQ(check(good), "ok");
  for (const uint64_t value : {uint64_t{1} << 20, UINT64_MAX, UINT64_MAX - 0x10000, uint64_t{1} << 63}) {
    EXPECT_EQ(check(with_dynamic(good, DT_SONAME, value)), "elf.malformed") << value;
    EXPECT_EQ(check(with_dynamic(good, DT_NEEDED, value)), "elf.malformed") << value;
    EXPECT_EQ(check(with_dynamic(good, DT_STRTAB, value)), "elf.malformed") << value;
  }
  EXPECT_EQ(check(with_dynamic(good, DT_STRSZ, 3)), "elf.malformed");
}

TEST_F(SharedObjectTest, RefusesADynamicSectionWithoutEnd) {
  ElfImage image;
  image.needed.assign(5000, "liba.so");
  EXPECT_EQ(check(image.bytes()), "elf.malformed");
  image.needed.assign(1025, "liba.so");
  EXPECT_EQ(check(image.bytes()), "elf.malformed") << "more than anyone needs";
  image.needed.assign(1024, "liba.so");
  EXPECT_EQ(check(image.bytes()), "ok");
}

TEST_F(SharedObjectTest, FindsEveryTruncation) {
  for (size_t length = 0; length < 200; ++length) {
    const std::string id = check(image_.substr(0, length));
    EXPECT_EQ(id, "elf.truncated") << length;
  }
  for (size_t length = 200; length < image_.size(); length += image_.size() / 37)
    EXPECT_EQ(check(image_.substr(0, length)), "elf.truncated") << length;
  EXPECT_EQ(check(image_.substr(0, image_.size() - 1)), "elf.truncated");
  const std::string full = full_image().bytes();
  for (size_t length = 0; length < full.size(); ++length)
    EXPECT_EQ(check(full.substr(0, length)), "elf.truncated") << length;
}

// No single wrong byte may crash the check, whatever it makes of it.
TEST_F(SharedObjectTest, SurvivesEveryWrongByte) {
  const auto check_with = [&](std::string image, size_t at, int change) {
    image[at] = static_cast<char>(image[at] ^ change);
    EXPECT_FALSE(check(image).empty());
  };
  const std::string full = full_image().bytes();
  for (size_t at = 0; at < full.size(); ++at)
    for (const int change : {0xFF, 0x01, 0x80}) check_with(full, at, change);
  for (size_t at = 0; at < std::min<size_t>(image_.size(), 4096); ++at) check_with(image_, at, 0xFF);
}

}  // namespace
}  // namespace backplane
