#include "registry/elf/dependency_walk.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "cache_image.hpp"
#include "elf_image.hpp"
#include "fixtures/plugin_world.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

class DependencyWalkTest : public ::testing::Test {
 protected:
  // A library at FOLDER/NAME, with that soname, and what it needs; `folder` is made.
  std::string add(const std::string& folder, const std::string& name, std::vector<std::string> needed,
                  const std::string& runpath = "", const std::string& rpath = "") {
    ElfImage image;
    image.soname = name;
    image.needed = std::move(needed);
    image.runpath = runpath;
    image.rpath = rpath;
    return write(folder, name, image);
  }
  std::string write(const std::string& folder, const std::string& name, const ElfImage& image) {
    return world_.write(world_.folder(folder) / name, image.bytes());
  }
  std::string in_root(const std::string& path) const { return (world_.root() / path).string(); }

  DependencyClosure walk(const std::string& library, bool secure = false) {
    DependencyWalk walk(world_.environment(secure), in_root("cache"));
    return walk.walk(library);
  }
  std::vector<std::string> found(const std::string& library) {
    const DependencyClosure closure = walk(library);
    for (const MissingLibrary& missing : closure.missing) ADD_FAILURE() << missing.soname << ": " << missing.reason;
    return closure.files;
  }
  // The one missing library.
  MissingLibrary missing(const std::string& library) {
    const DependencyClosure closure = walk(library);
    EXPECT_EQ(closure.missing.size(), 1u);
    return closure.missing.empty() ? MissingLibrary() : closure.missing[0];
  }
  static bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

  PluginWorld world_;
};

TEST_F(DependencyWalkTest, NeedsNothing) {
  const DependencyClosure closure = walk(add("p", "p.so", {}));
  EXPECT_TRUE(closure.files.empty() && closure.missing.empty());
  EXPECT_EQ(closure.fingerprint, 0u);
}

TEST_F(DependencyWalkTest, FindsARealLibrarysNeeds) {
  DependencyWalk walk{Environment::process()};
  const DependencyClosure closure = walk.walk(fixture_library("toy"));
  for (const MissingLibrary& missing : closure.missing) ADD_FAILURE() << missing.soname << ": " << missing.reason;
  const auto is_libc = [](const std::string& path) { return path.find("/libc.so.6") != std::string::npos; };
  EXPECT_EQ(std::count_if(closure.files.begin(), closure.files.end(), is_libc), 1);
  EXPECT_TRUE(std::is_sorted(closure.files.begin(), closure.files.end()));
}

TEST_F(DependencyWalkTest, FollowsTheRunpathOfEach) {
  const std::string b = add("lib", "libb.so", {});
  const std::string a = add("lib", "liba.so", {"libb.so"}, "$ORIGIN");
  EXPECT_EQ(found(add("p", "p.so", {"liba.so"}, "${ORIGIN}/../lib")), (std::vector<std::string>{a, b}));
}

TEST_F(DependencyWalkTest, TakesOriginFromTheNameThatWasFound) {
  add("real", "liba.so", {"libb.so"}, "$ORIGIN");
  const std::string b = add("links", "libb.so", {});
  fs::create_symlink(world_.root() / "real/liba.so", world_.root() / "links/liba.so");
  EXPECT_EQ(found(add("p", "p.so", {"liba.so"}, "$ORIGIN/../links")),
            (std::vector<std::string>{b, in_root("real/liba.so")}));
}

TEST_F(DependencyWalkTest, TellsThatRunpathIsNotInherited) {
  const std::string b = add("p", "libb.so", {});
  const std::string a = add("p", "liba.so", {"libb.so"});
  const std::string p = add("p", "p.so", {"liba.so"}, "$ORIGIN");
  const MissingLibrary library = missing(p);
  EXPECT_EQ(library.soname, "libb.so");
  EXPECT_EQ(library.chain, (std::vector<std::string>{p, a}));
  EXPECT_TRUE(
      says(library.reason, b + " is there, but the RUNPATH of p.so is not used for the dependencies of liba.so"))
      << library.reason;
  EXPECT_TRUE(says(library.hint, "set the RUNPATH of " + a + " to '$ORIGIN'")) << library.hint;
}

TEST_F(DependencyWalkTest, AdvisesTheWayToAnotherFolder) {
  add("deps", "libb.so", {});
  add("p", "liba.so", {"libb.so"});
  const MissingLibrary library = missing(add("p", "p.so", {"liba.so"}, "$ORIGIN:$ORIGIN/../deps"));
  EXPECT_TRUE(says(library.hint, "to '$ORIGIN/../deps'")) << library.hint;
}

TEST_F(DependencyWalkTest, AdvisesWhenTheFileLiesBeside) {
  const std::string a = add("p", "liba.so", {});
  const MissingLibrary library = missing(add("p", "p.so", {"liba.so"}));
  EXPECT_TRUE(says(library.reason, a + " is there, but nothing tells the loader to look there")) << library.reason;
  EXPECT_TRUE(says(library.hint, "'$ORIGIN'")) << library.hint;
}

// What the nearer one needs itself is there for those below, whatever their own search would find.
TEST_F(DependencyWalkTest, SharesWhatIsLoadedAlready) {
  const std::string b = add("p", "libb.so", {});
  const std::string a = add("p", "liba.so", {"libb.so"});
  EXPECT_EQ(found(add("p", "p.so", {"liba.so", "libb.so"}, "$ORIGIN")), (std::vector<std::string>{a, b}));
}

TEST_F(DependencyWalkTest, SharesBySonameAsWell) {
  ElfImage image;
  image.soname = "liba.so.1";
  const std::string a = write("p", "liba.so", image);
  const std::string c = add("p", "libc1.so", {"liba.so.1"});
  EXPECT_EQ(found(add("p", "p.so", {"liba.so", "libc1.so"}, "$ORIGIN")), (std::vector<std::string>{a, c}));
}

TEST_F(DependencyWalkTest, InheritsRpath) {
  const std::string b = add("p", "libb.so", {});
  const std::string a = add("p", "liba.so", {"libb.so"});
  EXPECT_EQ(found(add("p", "p.so", {"liba.so"}, "", "$ORIGIN")), (std::vector<std::string>{a, b}));
}

TEST_F(DependencyWalkTest, IgnoresRpathWhereThereIsARunpath) {
  add("p", "libb.so", {});
  add("p", "liba.so", {"libb.so"}, "/nowhere");
  EXPECT_EQ(missing(add("p", "p.so", {"liba.so"}, "", "$ORIGIN")).soname, "libb.so") << "that of the one that needs it";
  EXPECT_EQ(missing(add("p", "q.so", {"libb.so"}, "/nowhere", "$ORIGIN")).soname, "libb.so") << "its own";
}

TEST_F(DependencyWalkTest, LooksInOrder) {
  for (const char* folder : {"rpath", "environment", "runpath", "cached"}) add(folder, "liba.so", {});
  world_.set("LD_LIBRARY_PATH", in_root("environment"));
  world_.write(world_.root() / "cache", cache_image({{"liba.so", in_root("cached/liba.so")}}));
  const std::string rpath = in_root("rpath"), runpath = in_root("runpath");
  EXPECT_EQ(found(add("p", "p.so", {"liba.so"}, "", rpath))[0], in_root("rpath/liba.so"));
  const std::string p = add("p", "p.so", {"liba.so"}, runpath);
  EXPECT_EQ(found(p)[0], in_root("environment/liba.so"));
  fs::remove(world_.root() / "environment/liba.so");
  EXPECT_EQ(found(p)[0], in_root("runpath/liba.so"));
  fs::remove(world_.root() / "runpath/liba.so");
  EXPECT_EQ(found(p)[0], in_root("cached/liba.so"));
}

TEST_F(DependencyWalkTest, IgnoresTheEnvironmentOfPrivilegedProcesses) {
  add("environment", "liba.so", {});
  world_.set("LD_LIBRARY_PATH", "/nowhere:" + in_root("environment"));
  const std::string p = add("p", "p.so", {"liba.so"});
  EXPECT_TRUE(walk(p).missing.empty());
  EXPECT_EQ(walk(p, true).missing.size(), 1u);
}

TEST_F(DependencyWalkTest, PassesOverLibrariesForOtherMachines) {
  ElfImage foreign;
  foreign.machine = EM_S390;
  const std::string other = write("other", "liba.so", foreign);
  const std::string p = add("p", "p.so", {"liba.so"}, in_root("other") + ":" + in_root("same"));
  const MissingLibrary library = missing(p);
  EXPECT_TRUE(says(library.reason, other + " is there, but the library is for s390x")) << library.reason;
  EXPECT_EQ(found([&] { return add("same", "liba.so", {}), p; }())[0], in_root("same/liba.so"));
}

TEST_F(DependencyWalkTest, StopsAtABrokenLibraryAsTheLoaderDoes) {
  const std::string broken = world_.write(world_.folder("broken") / "liba.so", "INPUT(libreal.so)");
  add("same", "liba.so", {});
  const MissingLibrary library = missing(add("p", "p.so", {"liba.so"}, in_root("broken") + ":" + in_root("same")));
  EXPECT_TRUE(says(library.reason, broken + " is there, but cannot be loaded")) << library.reason;
}

TEST_F(DependencyWalkTest, SkipsTheSystemsFoldersIfToldTo) {
  ElfImage image;
  image.needed = {"libc.so.6"};
  image.flags_1 = DF_1_NODEFLIB;
  DependencyWalk walk{Environment()};
  EXPECT_TRUE(walk.walk(write("p", "p.so", image)).files.empty());
  image.flags_1 = 0;
  EXPECT_FALSE(walk.walk(write("p", "q.so", image)).files.empty());
}

TEST_F(DependencyWalkTest, EndsAtCycles) {
  const std::string a = add("p", "liba.so", {"libb.so", "p.so"}, "$ORIGIN");
  const std::string b = add("p", "libb.so", {"liba.so"}, "$ORIGIN");
  EXPECT_EQ(found(add("p", "p.so", {"liba.so"}, "$ORIGIN")), (std::vector<std::string>{a, b}));
}

TEST_F(DependencyWalkTest, TakesANameWithASlashAsAPath) {
  const std::string a = add("deps", "liba.so", {});
  EXPECT_EQ(found(add("p", "p.so", {"$ORIGIN/../deps/liba.so"})), std::vector<std::string>{a});
  EXPECT_EQ(missing(add("p", "q.so", {"/nowhere/liba.so"})).reason, "there is no such file");
}

TEST_F(DependencyWalkTest, LeavesUnknownVariablesAlone) {
  const std::string a = add("$ORIGINAL", "liba.so", {});
  EXPECT_EQ(found(add("p", "p.so", {"liba.so"}, in_root("$ORIGINAL"))), std::vector<std::string>{a});
}

TEST_F(DependencyWalkTest, CountsWhatThisProcessHasMapped) {
  const std::string library = in_root("libmapped_by_this_test.so");
  fs::copy_file(fixture_library("toy"), library);
  const std::string p = add("p", "p.so", {"libmapped_by_this_test.so"});
  EXPECT_EQ(walk(p).missing.size(), 1u);
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  EXPECT_TRUE(walk(p).missing.empty());
  dlclose(handle);
}

TEST_F(DependencyWalkTest, ReportsALibraryThatCannotBeRead) {
  const DependencyClosure closure = walk(in_root("nowhere.so"));
  ASSERT_EQ(closure.missing.size(), 1u);
  EXPECT_TRUE(closure.missing[0].chain.empty());
  EXPECT_EQ(missing(world_.write(world_.root() / "text.so", "text")).soname, "text.so");
}

TEST_F(DependencyWalkTest, FingerprintFollowsTheFiles) {
  add("p", "liba.so", {});
  const std::string p = add("p", "p.so", {"liba.so"}, "$ORIGIN");
  const uint64_t before = walk(p).fingerprint;
  EXPECT_EQ(walk(p).fingerprint, before);
  add("p", "liba.so", {}, "/longer");
  EXPECT_NE(walk(p).fingerprint, before);
}

// One walk object answers for many libraries from what it has read.
TEST_F(DependencyWalkTest, RemembersWhatItHasRead) {
  const std::string a = add("p", "liba.so", {});
  const std::string p = add("p", "p.so", {"liba.so"}, "$ORIGIN"), q = add("p", "q.so", {"liba.so"}, "$ORIGIN");
  DependencyWalk walk(world_.environment(), in_root("cache"));
  const DependencyClosure first = walk.walk(p);
  fs::remove(a);
  EXPECT_EQ(walk.walk(q).files, first.files);
  EXPECT_EQ(walk.walk(q).fingerprint, first.fingerprint);
}

}  // namespace
}  // namespace backplane
