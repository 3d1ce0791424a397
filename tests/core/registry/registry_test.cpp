#include "registry/registry.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "backplane/base/thread_pool.hpp"
#include "fixtures/plugin_world.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

class RegistryTest : public ::testing::Test {
 protected:
  RegistryTest()
      : log_([this](LogLevel, std::string_view topic,
                    std::string_view text) { lines_.push_back(std::string(topic) + ": " + std::string(text)); },
             LogLevel::info),
        folder_(world_.folder("plugins")) {
    world_.set("BACKPLANE_PLUGIN_PATH", folder_);
  }

  std::unique_ptr<Registry> open() {
    options_.environment = world_.environment();
    auto registry = std::make_unique<Registry>(options_, log_, pool_);
    scan(*registry);
    return registry;
  }
  static void scan(Registry& registry) {
    const Status status = registry.scan([](const Plugin&) { return Status(); });
    EXPECT_TRUE(status.ok()) << status.message();
  }
  // "<file>: <outcome> <stage> <code>" of every report.
  static std::vector<std::string> story(const Registry& registry) {
    std::vector<std::string> lines;
    for (const LoadReport& report : registry.reports())
      lines.push_back(fs::path(report.requested).filename().string() + ": " +
                      std::string(outcome_name(report.outcome)) + " " + std::string(stage_name(report.stage)) + " " +
                      report.code);
    return lines;
  }
  bool logged(const std::string& line) const { return std::find(lines_.begin(), lines_.end(), line) != lines_.end(); }

  PluginWorld world_;
  std::vector<std::string> lines_;
  Logger log_;
  ThreadPool pool_{2};
  RegistryOptions options_;
  fs::path folder_;
};

using Story = std::vector<std::string>;

TEST_F(RegistryTest, ADroppedInPluginAppearsAndVanishes) {
  EXPECT_TRUE(open()->reports().empty());
  world_.install(folder_, "toy");
  {
    const auto registry = open();
    ASSERT_EQ(story(*registry), (Story{"toy.json: active active ok"}));
    const LoadReport report = registry->reports().at(0);
    EXPECT_EQ(report.source, "env:BACKPLANE_PLUGIN_PATH");
    EXPECT_EQ(report.plugin_id, "org.test.toy");
    EXPECT_EQ(report.requested, folder_ / "toy.json");
    EXPECT_EQ(report.real_path, folder_ / "toy.so");
    EXPECT_EQ(report.device_count, 1u);
    EXPECT_GT(report.elapsed_ns, 0u);
    ASSERT_EQ(registry->plugins().size(), 1u);
    EXPECT_EQ(registry->plugins()[0]->version(), "1.2.3");
    EXPECT_EQ(registry->plugins()[0]->abi(), BP_ABI_VERSION);
    EXPECT_EQ(registry->plugins()[0]->devices().size(), 1u);
  }
  EXPECT_TRUE(logged("org.test.toy: closed"));
  fs::remove_all(folder_);
  fs::create_directory(folder_);
  EXPECT_TRUE(open()->reports().empty());
}

struct Broken {
  const char* fixture;
  const char* stage_and_code;
  const char* outcome = "failed";
};

class RegistryBroken : public RegistryTest, public ::testing::WithParamInterface<Broken> {};

// Whatever is wrong with one plugin, the others work as if it were not there.
TEST_P(RegistryBroken, IsReportedAndChangesNothingElse) {
  world_.install(world_.folder("plugins"), GetParam().fixture);
  world_.install(folder_, "toy_cpu", "org.test.toy-cpu");
  const auto registry = open();
  const std::string name = std::string(GetParam().fixture) + ".json";
  Story expected = {name + ": " + GetParam().outcome + " " + GetParam().stage_and_code,
                    "toy_cpu.json: active active ok"};
  std::sort(expected.begin(), expected.end());
  Story found = story(*registry);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, expected);
  for (const LoadReport& report : registry->reports()) EXPECT_FALSE(report.message.empty());
  ASSERT_EQ(registry->plugins().size(), 1u);
  EXPECT_EQ(registry->plugins()[0]->id(), "org.test.toy-cpu");
  EXPECT_EQ(registry->plugins()[0]->devices().size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(All, RegistryBroken,
                         ::testing::Values(Broken{"toy_no_entry", "symbol symbol.missing"},
                                           Broken{"toy_no_open", "open symbol.missing-function"},
                                           Broken{"toy_refuses", "negotiate negotiate.incompatible"},
                                           Broken{"toy_negotiate_fails", "negotiate negotiate.failed"},
                                           Broken{"toy_future_abi", "negotiate negotiate.bad-reply"},
                                           Broken{"toy_no_hardware", "probe probe.no-hardware", "skipped"},
                                           Broken{"toy_open_error", "open open.failed"},
                                           Broken{"toy_open_no_hardware", "open open.no-hardware", "skipped"},
                                           Broken{"toy_short_table", "open tables.size"},
                                           Broken{"toy_wrong_kind", "open tables.kind"},
                                           Broken{"toy_null_slot", "open tables.slot"},
                                           Broken{"toy_null_table", "open tables.missing"},
                                           Broken{"toy_null_device", "enumerate enumerate.bad-device"},
                                           Broken{"toy_throws_negotiate", "negotiate plugin.threw"},
                                           Broken{"toy_throws_open", "open plugin.threw"},
                                           Broken{"toy_throws_count", "enumerate plugin.threw"}),
                         [](const auto& broken) { return broken.param.fixture; });

TEST_F(RegistryTest, PluginsReasonIsKept) {
  world_.install(folder_, "toy_refuses");
  EXPECT_NE(open()->reports()[0].message.find("toy speaks 9.0 to 9.1"), std::string::npos);
}

TEST_F(RegistryTest, AClosedPluginThatThrowsDoesNotTakeTheHostDown) {
  world_.install(folder_, "toy_throws_close");
  EXPECT_EQ(story(*open()), (Story{"toy_throws_close.json: active active ok"}));
}

TEST_F(RegistryTest, RefusedTablesStillCloseThePlugin) {
  world_.install(folder_, "toy_null_slot");
  open();
  EXPECT_TRUE(logged("org.test.toy: closed"));
}

TEST_F(RegistryTest, ZeroDevicesIsNoError) {
  world_.install(folder_, "toy_no_devices");
  const auto registry = open();
  EXPECT_EQ(story(*registry), (Story{"toy_no_devices.json: active active ok"}));
  EXPECT_EQ(registry->reports()[0].device_count, 0u);
}

TEST_F(RegistryTest, IdsMustAgree) {
  world_.install(folder_, "toy", "org.test.other");
  EXPECT_EQ(story(*open()), (Story{"toy.json: failed negotiate negotiate.id-mismatch"}));
}

TEST_F(RegistryTest, OddFilesAreReportedAndNothingHangs) {
  world_.install(folder_, "toy");
  ASSERT_EQ(mkfifo((folder_ / "a.json").c_str(), 0600), 0);
  world_.write(folder_ / "b.json", "{\"file_format_version\":\"1.0\",\n \"file_format_version\":\"1.0\"}");
  world_.write(folder_ / "c.json", "");
  world_.write(folder_ / "d.json", manifest_text("org.test.gone", "gone.so"));
  world_.write(folder_ / "e.so", "bare");
  world_.write(folder_ / "f.json", manifest_text("org.test.text", "f.so"));
  world_.write(folder_ / "f.so", "this is not a library, but long enough to hold the header of one, 64 bytes");
  const auto registry = open();
  EXPECT_EQ(story(*registry),
            (Story{"a.json: failed found file.not-regular", "b.json: failed parsed manifest.duplicate-key",
                   "c.json: failed parsed manifest.syntax", "d.json: failed arch file.missing",
                   "e.so: skipped parsed library.no-manifest", "f.json: failed arch elf.magic",
                   "toy.json: active active ok"}));
  EXPECT_EQ(registry->reports()[1].file, (folder_ / "b.json").string());
  EXPECT_EQ(registry->reports()[1].line, 2u);
  EXPECT_EQ(registry->reports()[1].column, 2u);
}

TEST_F(RegistryTest, TruncatedLibraryIsNeverMapped) {
  const fs::path manifest = world_.install(folder_, "toy");
  const auto bytes = fs::file_size(folder_ / "toy.so");
  for (const auto keep : {bytes / 2, bytes - 1, uintmax_t{63}, uintmax_t{0}}) {
    fs::resize_file(folder_ / "toy.so", keep);
    EXPECT_EQ(story(*open()), (Story{"toy.json: failed arch elf.truncated"})) << keep;
  }
}

TEST_F(RegistryTest, AMissingLibraryIsNamedAndTheManifestSaysHowToGetIt) {
  world_.install(folder_, "toy", "org.test.toy", ",\"dependencies\":[{\"soname\":\"nothing.so\",\"hint\":\"h\"}]");
  std::ifstream in(folder_ / "toy.so", std::ios::binary);
  std::string image{std::istreambuf_iterator<char>(in), {}};
  // The one library that every C plugin needs gets a name that no system has.
  const size_t at = image.find("libc.so.6");
  ASSERT_NE(at, std::string::npos);
  image.replace(at, 9, "nix.so.66");
  world_.write(folder_ / "toy.so", image);
  world_.write(
      folder_ / "toy.json",
      manifest_text("org.test.toy", "toy.so", ",\"dependencies\":[{\"soname\":\"nix.so.66\",\"hint\":\"get nix\"}]"));
  const auto registry = open();
  EXPECT_EQ(story(*registry), (Story{"toy.json: failed dlopen dlopen.missing-library"}));
  EXPECT_NE(registry->reports()[0].message.find("nix.so.66"), std::string::npos) << registry->reports()[0].message;
  EXPECT_EQ(registry->reports()[0].hint, "get nix");
}

TEST_F(RegistryTest, TheCoreIsNoPlugin) {
  const std::string core = fs::canonical("/proc/self/exe").parent_path().parent_path() / "lib" / "libbackplane.so";
  if (!fs::exists(core)) GTEST_SKIP() << "another layout";
  world_.write(folder_ / "core.json", manifest_text("org.test.core", core));
  EXPECT_EQ(story(*open()), (Story{"core.json: failed arch library.self"}));
}

TEST_F(RegistryTest, UsersChooseByIdAndFile) {
  world_.install(folder_, "toy");
  world_.install(folder_, "toy_cpu", "org.test.toy-cpu");
  world_.set("BACKPLANE_PLUGINS_DISABLE", "*-cpu");
  EXPECT_EQ(story(*open()), (Story{"toy.json: active active ok", "toy_cpu.json: skipped filtered filter.disabled"}));
  world_.set("BACKPLANE_PLUGINS_SELECT", "toy_cpu.json");
  EXPECT_EQ(story(*open()), (Story{"toy.json: skipped filtered filter.not-selected",
                                   "toy_cpu.json: skipped filtered filter.disabled"}));
  options_.plugin_paths = {folder_};
  options_.search_system = false;  // the environment does not count then
  EXPECT_EQ(open()->plugins().size(), 2u);
}

TEST_F(RegistryTest, BestVariantThatRunsHereIsUsed) {
  const auto variant = [](int rank, const std::string& cpu) {
    return ",\"variant\":{\"group\":\"org.test.toy\",\"rank\":" + std::to_string(rank) + "},\"requires\":{\"cpu\":[" +
           cpu + "]}";
  };
  for (const char* name : {"a", "b", "c", "d"})
    fs::copy_file(fixture_library("toy"), folder_ / (std::string(name) + ".so"));
  world_.write(folder_ / "a.json", manifest_text("org.test.toy", "a.so", variant(40, "\"avx512f\"")));
  world_.write(folder_ / "b.json", manifest_text("org.test.toy", "b.so", variant(20, "")));
  world_.write(folder_ / "c.json", manifest_text("org.test.toy", "c.so", variant(30, "\"avx2\"")));
  world_.write(folder_ / "d.json", manifest_text("org.test.toy", "d.so", variant(30, "")));
  options_.cpu_features = CpuFeatures({"avx2"});
  EXPECT_EQ(story(*open()),
            (Story{"a.json: skipped cpu cpu.missing-feature", "b.json: skipped shadowed variant.lower-rank",
                   "c.json: active active ok", "d.json: skipped shadowed variant.lower-rank"}));
  options_.cpu_features = CpuFeatures({"avx2", "avx512f"});
  EXPECT_EQ(story(*open())[0], "a.json: active active ok");
  options_.cpu_features = CpuFeatures({});
  EXPECT_EQ(story(*open())[3], "d.json: active active ok");
}

TEST_F(RegistryTest, TheNextBestVariantStepsInForOneThatFails) {
  const auto variant = [](int rank) {
    return ",\"variant\":{\"group\":\"org.test.toy\",\"rank\":" + std::to_string(rank) + "}";
  };
  world_.install(folder_, "toy", "org.test.toy", variant(10));
  world_.install(folder_, "toy_cpu", "org.test.toy-cpu", variant(5));
  world_.install(folder_, "toy_open_error", "org.test.toy", variant(20));
  world_.install(folder_, "toy_no_entry", "org.test.toy", variant(30));
  EXPECT_EQ(story(*open()),
            (Story{"toy.json: active active ok", "toy_cpu.json: skipped shadowed variant.lower-rank",
                   "toy_no_entry.json: failed symbol symbol.missing", "toy_open_error.json: failed open open.failed"}));
}

TEST_F(RegistryTest, EarlierIdAndEarlierLibraryWin) {
  const fs::path second = world_.folder("second");
  world_.install(folder_, "toy");
  fs::copy_file(fixture_library("toy"), second / "copy.so");
  world_.write(second / "copy.json", manifest_text("org.test.toy", "copy.so"));
  world_.write(second / "same.json", manifest_text("org.test.same", folder_ / "toy.so"));
  world_.set("BACKPLANE_PLUGIN_PATH", folder_.string() + ":" + second.string());
  EXPECT_EQ(story(*open()), (Story{"toy.json: active active ok", "copy.json: skipped shadowed plugin.duplicate-id",
                                   "same.json: skipped shadowed library.duplicate"}));
}

TEST_F(RegistryTest, AFailedManifestKeepsNeitherIdNorLibrary) {
  world_.write(folder_ / "a-wrong-id.json", manifest_text("org.test.other", "toy.so"));
  fs::copy_file(fixture_library("toy_no_entry"), folder_ / "b.so");
  world_.write(folder_ / "b-broken.json", manifest_text("org.test.toy", "b.so"));
  world_.install(folder_, "toy");
  const Story found = story(*open());
  ASSERT_EQ(found.size(), 3u);
  EXPECT_TRUE(found[0].starts_with("a-wrong-id.json: failed")) << found[0];
  EXPECT_TRUE(found[1].starts_with("b-broken.json: failed")) << found[1];
  EXPECT_EQ(found[2], "toy.json: active active ok");
}

TEST_F(RegistryTest, LibraryOfALinkedManifestLiesBesideTheRealOne) {
  world_.install(world_.folder("real"), "toy");
  fs::create_symlink(world_.root() / "real" / "toy.json", folder_ / "link.json");
  EXPECT_EQ(story(*open()), (Story{"link.json: active active ok"}));
}

TEST_F(RegistryTest, OtherPlatformsAreSkipped) {
  world_.write(folder_ / "p.json", R"({"file_format_version":"1.0",
    "plugin":{"id":"org.test.p","library_path":{"linux-s390x":"p.so"}}})");
  EXPECT_EQ(story(*open()), (Story{"p.json: skipped arch manifest.platform"}));
}

TEST_F(RegistryTest, AbiRangeOfTheManifestIsHeeded) {
  world_.install(folder_, "toy", "org.test.toy", ",\"abi\":{\"min\":\"2.0\",\"max\":\"2.1\"}");
  EXPECT_EQ(story(*open()), (Story{"toy.json: failed negotiate negotiate.incompatible"}));
}

TEST_F(RegistryTest, AnotherAbiStandsInNobodysWay) {
  const std::string future = ",\"abi\":{\"min\":\"2.0\",\"max\":\"2.1\"}";
  const auto variant = [](int rank) {
    return ",\"variant\":{\"group\":\"org.test.toy\",\"rank\":" + std::to_string(rank) + "}";
  };
  world_.install(folder_, "toy", "org.test.toy", variant(10));
  world_.write(folder_ / "a-duplicate.json", manifest_text("org.test.toy", "toy.so", future));
  fs::copy_file(fixture_library("toy"), folder_ / "b-variant.so");
  world_.write(folder_ / "b-variant.json", manifest_text("org.test.toy", "b-variant.so", variant(20) + future));
  EXPECT_EQ(story(*open()),
            (Story{"a-duplicate.json: failed negotiate negotiate.incompatible",
                   "b-variant.json: failed negotiate negotiate.incompatible", "toy.json: active active ok"}));
}

TEST_F(RegistryTest, KnownCpuFeaturesAreNotTakenForSlips) {
  world_.install(folder_, "toy", "org.test.toy", ",\"requires\":{\"cpu\":[\"avx2\",\"avx512g\"]}");
  options_.cpu_features = CpuFeatures({});
  const auto registry = open();
  const std::string message = registry->reports()[0].message;
  EXPECT_EQ(message.find("did you mean 'avx2'"), std::string::npos) << message;
  EXPECT_NE(message.find("did you mean 'avx512"), std::string::npos) << message;
}

TEST_F(RegistryTest, OptionsReachThePlugin) {
  world_.install(folder_, "toy", "org.test.toy", ",\"options\":{\"name\":\"default\",\"size\":{\"bytes\":1}}");
  options_.plugin_options["org.test.toy"] = parse_json(R"({"size":{"bytes":64}})", "test").value();
  EXPECT_EQ(story(*open()), (Story{"toy.json: active active ok"}));
  EXPECT_TRUE(logged("org.test.toy: name=default"));
  EXPECT_TRUE(logged("org.test.toy: size.bytes=64"));
  options_.plugin_options["org.test.toy"] = parse_json(R"({"size":{"bytes":"many"}})", "test").value();
  EXPECT_EQ(story(*open()), (Story{"toy.json: failed validated options.type"}));
  options_.plugin_options["org.test.toy"] = parse_json(R"({"unknown":1})", "test").value();
  EXPECT_EQ(story(*open()), (Story{"toy.json: failed validated options.unknown-key"}));
}

TEST_F(RegistryTest, MissingRequestedFolderIsReported) {
  world_.set("BACKPLANE_PLUGIN_PATH", "/nowhere/at/all");
  const auto registry = open();
  ASSERT_EQ(registry->reports().size(), 1u);
  EXPECT_EQ(registry->reports()[0].code, "path.missing");
}

TEST_F(RegistryTest, OpensAgainAndAgain) {
  world_.install(folder_, "toy");
  for (int i = 0; i < 20; ++i) ASSERT_EQ(open()->plugins().size(), 1u);
}

}  // namespace
}  // namespace backplane
