#include "registry/shared_object.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>

#include "fixtures/plugin_world.hpp"

namespace backplane {
namespace {

class SharedObjectTest : public ::testing::Test {
 protected:
  SharedObjectTest() {
    std::ifstream file(fixture_library("toy"), std::ios::binary);
    image_.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::string check(const std::string& image) {
    const auto path = world_.write(world_.root() / "image.so", image);
    const Status status = SharedObject::read(RegularFile::open(path).value()).status();
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

  PluginWorld world_;
  std::string image_;
};

TEST_F(SharedObjectTest, AcceptsALibrary) { EXPECT_EQ(check(image_), "ok"); }

TEST_F(SharedObjectTest, RefusesProgramsAndOtherFiles) {
  const Result<RegularFile> self = RegularFile::open("/proc/self/exe");
  EXPECT_EQ(SharedObject::read(*self).status().id(), "elf.pie");
  EXPECT_EQ(check("INPUT ( libfoo.so.1 ) and so on, as a linker script of some length would"), "elf.magic");
  EXPECT_EQ(check(std::string(200, '\0')), "elf.magic");
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

TEST_F(SharedObjectTest, FindsEveryTruncation) {
  for (size_t length = 0; length < 200; ++length) {
    const std::string id = check(image_.substr(0, length));
    EXPECT_EQ(id, "elf.truncated") << length;
  }
  for (size_t length = 200; length < image_.size(); length += image_.size() / 37)
    EXPECT_EQ(check(image_.substr(0, length)), "elf.truncated") << length;
  EXPECT_EQ(check(image_.substr(0, image_.size() - 1)), "elf.truncated");
}

// No single wrong byte in the headers may crash the check.
TEST_F(SharedObjectTest, SurvivesEveryWrongByteOfTheHeaders) {
  for (size_t at = 0; at < 64 + 4 * sizeof(Elf64_Phdr); ++at) {
    std::string image = image_;
    image[at] = static_cast<char>(image[at] ^ 0xFF);
    EXPECT_FALSE(check(image).empty());
  }
}

}  // namespace
}  // namespace backplane
