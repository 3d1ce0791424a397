#include "registry/plugin/library.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "fixtures/plugin_world.hpp"

namespace backplane {
namespace {

FileIdentity identity(const std::filesystem::path& path) { return RegularFile::open(path).value().identity(); }

TEST(Library, GivesTheEntryPoint) {
  const auto path = fixture_library("toy");
  const Result<Library> library = Library::load(path, identity(path));
  ASSERT_TRUE(library.ok()) << library.status().message();
  const auto entry = library->entry_point(BP_ENTRY_POINT);
  ASSERT_TRUE(entry.ok()) << entry.status().message();
  EXPECT_NE((*entry)("bp_negotiate"), nullptr);
  EXPECT_EQ((*entry)(nullptr), nullptr);
}

TEST(Library, KeepsTheSystemsText) {
  PluginWorld world;
  const auto path = world.write(world.root() / "bad.so", "not a library");
  const Status status = Library::load(path, identity(path)).status();
  EXPECT_EQ(status.id(), "dlopen.failed");
  EXPECT_NE(status.message().find("file too short"), std::string::npos) << status.message();
}

TEST(Library, MissingSymbolIsNotFound) {
  const auto path = fixture_library("toy_no_entry");
  const Result<Library> library = Library::load(path, identity(path));
  ASSERT_TRUE(library.ok());
  EXPECT_EQ(library->entry_point(BP_ENTRY_POINT).status().id(), "symbol.missing");
}

// A lookup in a library goes on in its dependencies, whose symbols are not its own.
TEST(Library, SymbolsOfDependenciesDoNotCount) {
  const auto path = fixture_library("toy");
  const Result<Library> library = Library::load(path, identity(path));
  ASSERT_TRUE(library.ok());
  EXPECT_EQ(library->entry_point("snprintf").status().id(), "symbol.elsewhere");
}

TEST(Library, NoticesAReplacedFile) {
  PluginWorld world;
  const auto path = world.copy_library(world.root(), "toy");
  const FileIdentity other = identity(fixture_library("toy"));
  EXPECT_EQ(Library::load(path, other).status().id(), "dlopen.replaced");
}

// Two plugins may each bring their own copy of a library.
TEST(Library, SymbolsStayPrivate) {
  const auto path = fixture_library("toy");
  const Result<Library> library = Library::load(path, identity(path));
  ASSERT_TRUE(library.ok());
  EXPECT_EQ(dlsym(RTLD_DEFAULT, BP_ENTRY_POINT), nullptr);
}

TEST(Library, StaysMapped) {
  PluginWorld world;
  const auto path = world.copy_library(world.root(), "toy");
  { ASSERT_TRUE(Library::load(path, identity(path)).ok()); }
  void* resident = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  EXPECT_NE(resident, nullptr);
  if (resident) dlclose(resident);
}

}  // namespace
}  // namespace backplane
