#include "registry/elf/load_failure.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "elf_image.hpp"
#include "fixtures/plugin_world.hpp"
#include "registry/plugin/library.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

class LoadFailureTest : public ::testing::Test {
 protected:
  // Copies a library of BACKPLANE_TEST_LIBRARIES into the folder.
  std::string copy(const std::string& folder, const std::string& name, const std::string& file) {
    const fs::path target = world_.folder(folder) / file;
    fs::copy_file(fs::path(BACKPLANE_TEST_LIBRARIES) / name / file, target);
    return target.string();
  }
  // What the system's loader says, explained.
  LoadFailure fail(const std::string& path) {
    const Result<Library> library = Library::load(path, RegularFile::open(path)->identity());
    if (library.ok()) ADD_FAILURE() << path << " can be loaded";
    system_text_ = library.status().message();
    return explain(library.status(), path);
  }
  LoadFailure explain(const Status& failure, const std::string& path) {
    DependencyWalk walk(world_.environment());
    return explain_load_failure(failure, path, manifest_, walk);
  }
  static bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

  PluginWorld world_;
  Manifest manifest_;
  std::string system_text_;
};

TEST_F(LoadFailureTest, NamesTheChainToAMissingLibrary) {
  copy("p", "a", "libchain_a.so.1");
  const LoadFailure failure = fail(copy("p", "plugin", "libchain_plugin.so"));
  const std::string& message = failure.status.message();
  EXPECT_EQ(failure.status.id(), "dlopen.missing-library");
  EXPECT_TRUE(message.starts_with(system_text_)) << message;
  EXPECT_TRUE(says(message, "libchain_plugin.so -> libchain_a.so.1 -> libchain_b.so.2 (not found in ")) << message;
  EXPECT_EQ(failure.hint, "install the package that holds libchain_b.so.2");
}

TEST_F(LoadFailureTest, TellsThatRunpathIsNotInherited) {
  const std::string b = copy("p", "b", "libchain_b.so.2"), a = copy("p", "a", "libchain_a.so.1");
  const LoadFailure failure = fail(copy("p", "plugin", "libchain_plugin.so"));
  EXPECT_EQ(failure.status.id(), "dlopen.missing-library");
  EXPECT_TRUE(says(failure.status.message(), b + " is there, but the RUNPATH of libchain_plugin.so is not used for "
                                                 "the dependencies of libchain_a.so.1"))
      << failure.status.message();
  EXPECT_TRUE(says(failure.hint, "set the RUNPATH of " + a + " to '$ORIGIN'")) << failure.hint;
}

TEST_F(LoadFailureTest, GivesTheManifestsHint) {
  manifest_.dependencies = {{"libother.so.1", "not this"}, {"libchain_a.so.1", "apt install chain"}};
  EXPECT_EQ(fail(copy("p", "plugin", "libchain_plugin.so")).hint, "apt install chain");
}

TEST_F(LoadFailureTest, TellsWhenTheFileIsForAnotherMachine) {
  ElfImage foreign;
  foreign.machine = EM_S390;
  const std::string a = world_.write(world_.folder("p") / "libchain_a.so.1", foreign.bytes());
  const LoadFailure failure = fail(copy("p", "plugin", "libchain_plugin.so"));
  EXPECT_EQ(failure.status.id(), "dlopen.missing-library");
  EXPECT_TRUE(says(failure.status.message(), a + " is there, but the library is for s390x"))
      << failure.status.message();
}

TEST_F(LoadFailureTest, TellsWhenTheFileIsBroken) {
  const std::string a =
      world_.write(world_.folder("p") / "libchain_a.so.1", "INPUT ( libchain_real.so.1 ), of a length");
  const LoadFailure failure = fail(copy("p", "plugin", "libchain_plugin.so"));
  EXPECT_EQ(failure.status.id(), "dlopen.missing-library");
  EXPECT_TRUE(says(failure.status.message(), a + " is there, but cannot be loaded")) << failure.status.message();
}

TEST_F(LoadFailureTest, NamesAnUndefinedSymbol) {
  const LoadFailure failure = fail(copy("p", "undefined", "libundefined.so"));
  EXPECT_EQ(failure.status.id(), "dlopen.undefined-symbol");
  EXPECT_TRUE(failure.status.message().starts_with(system_text_));
  EXPECT_TRUE(says(failure.status.message(), "'nowhere::function(int)' (_ZN7nowhere8functionEi)"))
      << failure.status.message();
  EXPECT_FALSE(failure.hint.empty());
}

TEST_F(LoadFailureTest, NamesASymbolVersionAndItsLibrary) {
  copy("p", "old", "libversioned.so.1");
  const LoadFailure failure = fail(copy("p", "wants_new", "libwants_new.so"));
  EXPECT_EQ(failure.status.id(), "dlopen.symbol-version");
  EXPECT_TRUE(says(failure.status.message(), "libwants_new.so needs version CHAIN_2 of libversioned.so.1"))
      << failure.status.message();
  EXPECT_TRUE(says(failure.hint, "install a newer libversioned.so.1")) << failure.hint;
}

// The text of a loader that speaks another language, or is of another system.
TEST_F(LoadFailureTest, FindsMissingLibrariesWhateverTheText) {
  const LoadFailure failure =
      explain(failed_precondition("nichts geht", "dlopen.failed"), copy("p", "plugin", "libchain_plugin.so"));
  EXPECT_EQ(failure.status.id(), "dlopen.missing-library");
  EXPECT_TRUE(says(failure.status.message(), "nichts geht; libchain_plugin.so -> libchain_a.so.1 (not found"))
      << failure.status.message();
}

TEST_F(LoadFailureTest, NamesTheOneThatTheSystemMeantFirst) {
  ElfImage image;
  image.needed = {"libfirst.so", "libsecond.so"};
  const std::string path = world_.write(world_.root() / "p.so", image.bytes());
  const LoadFailure failure =
      explain(failed_precondition("libsecond.so: cannot open shared object file", "dlopen.failed"), path);
  EXPECT_TRUE(says(failure.status.message(), "p.so -> libsecond.so (not found in")) << failure.status.message();
  EXPECT_TRUE(says(failure.status.message(), "also missing: libfirst.so")) << failure.status.message();
}

TEST_F(LoadFailureTest, LeavesOtherFailuresAlone) {
  const std::string path = world_.copy_library(world_.root(), "toy");
  const Status odd = failed_precondition("cannot allocate memory in static TLS block", "dlopen.failed");
  EXPECT_EQ(explain(odd, path).status.message(), odd.message());
  EXPECT_EQ(explain(odd, path).status.id(), "dlopen.failed");
  EXPECT_EQ(explain(odd, world_.write(world_.root() / "text.so", "text")).status.id(), "dlopen.failed");
  const Status replaced = failed_precondition("undefined symbol: x", "dlopen.replaced");
  EXPECT_EQ(explain(replaced, path).status.id(), "dlopen.replaced");
}

}  // namespace
}  // namespace backplane
