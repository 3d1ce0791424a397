// The manifest that backplane_add_plugin() puts into a library, read back from libraries built in many ways.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "registry/elf/shared_object.hpp"
#include "registry/manifest/manifest.hpp"

namespace backplane {
namespace {

const std::filesystem::path kFolder = BACKPLANE_EMBEDDED_FOLDER;

std::string library_of(const std::string& name) {
  const bool is_target = name.starts_with("embedded_");
  return (kFolder / ((is_target ? "lib" : "") + name + ".so")).string();
}

std::vector<std::string> built() {
  std::vector<std::string> names;
  std::istringstream list(BACKPLANE_EMBEDDED_BUILT);
  for (std::string name; list >> name;) names.push_back(name);
  return names;
}

std::string embedded_text(const std::string& library) {
  const Result<RegularFile> file = RegularFile::open(library);
  if (!file) return "";
  const Result<SharedObject> object = SharedObject::read(*file);
  EXPECT_TRUE(object.ok()) << object.status().message();
  return object ? object->manifest : "";
}

class EmbeddedManifestTest : public ::testing::TestWithParam<std::string> {};

TEST_P(EmbeddedManifestTest, IsReadBackInFull) {
  const std::string library = library_of(GetParam());
  const Result<Manifest> manifest = parse_embedded_manifest(embedded_text(library), library);
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(manifest->id, "org.test.embedded");
  EXPECT_EQ(manifest->display_name,
            R"(Quote ", back\slash\, ünïcode ☃, $<1:generator>, @at@, ${variable}, semi;colon, [bracket])");
  EXPECT_EQ(manifest->version, "1.2.3");
  EXPECT_EQ(manifest->options.find("path")->as_text(), R"(C:\dir)");
  EXPECT_EQ(manifest->options.find("text")->as_text(), R"(say "hi" $<1:x>;)");
  EXPECT_EQ(manifest->cpu, (std::vector<std::string>{"sse2", "ssse3"}));
  ASSERT_TRUE(manifest->variant.has_value());
  EXPECT_EQ(manifest->variant->rank, 7);
  ASSERT_EQ(manifest->dependencies.size(), 1u);
  EXPECT_EQ(manifest->dependencies[0].hint, R"(say "apt install libodd1" \o/)");
  EXPECT_EQ(library_path(*manifest, "/elsewhere").value(), library);
}

INSTANTIATE_TEST_SUITE_P(Built, EmbeddedManifestTest, ::testing::ValuesIn(built()),
                         [](const auto& variant) { return variant.param; });

TEST(EmbeddedManifest, SaysTheSameAsTheFileBesideIt) {
  std::ifstream file(kFolder / "embedded_with_file.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Result<Manifest> beside = parse_manifest(text, "embedded_with_file.json");
  ASSERT_TRUE(beside.ok()) << beside.status().message();
  EXPECT_EQ(library_path(*beside, "/folder").value(), "/folder/libembedded_with_file.so");
  const std::string line = ",\n    \"library_path\": \"libembedded_with_file.so\"";
  const size_t at = text.find(line);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(std::string(text).erase(at, line.size()), embedded_text(library_of("embedded_with_file")));
}

TEST(EmbeddedManifest, StandsAloneIfAskedTo) { EXPECT_FALSE(std::filesystem::exists(kFolder / "embedded_alone.json")); }

// Or else it would show nothing that the tests above read the manifest.
TEST(EmbeddedManifestDeathTest, ThePluginCannotBeRun) {
  EXPECT_DEATH(dlopen(library_of("embedded_alone").c_str(), RTLD_NOW), "");
}

}  // namespace
}  // namespace backplane
