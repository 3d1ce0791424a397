// One folder with everything that is wrong with plugins, all at once, and good plugins among it.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "backplane/registry/search_path.hpp"
#include "backplane/runtime/runtime.hpp"
#include "fixtures/plugin_world.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGood = "m-good.json";
constexpr const char* kGoodId = "org.test.toy-cpu";

// The folder, and what is to become of every candidate in it: "<outcome> <stage> <code>" by file name.
class Zoo {
 public:
  Zoo() : folder_(world_.folder("plugins")) {
    world_.set("BACKPLANE_PLUGIN_PATH", folder_);
    world_.set("XDG_CONFIG_HOME", world_.folder("config"));
    world_.set("XDG_CACHE_HOME", world_.folder("cache"));
    add_good();
    add_deadly();
    add_broken_libraries();
    add_wrong_binaries();
    add_odd_files();
    add_wrong_manifests();
    add_unwanted();
  }

  PluginWorld& world() { return world_; }
  const fs::path& folder() const { return folder_; }
  const std::map<std::string, std::string>& stories() const { return stories_; }
  // Those that would end otherwise without the others.
  const std::set<std::string>& entangled() const { return entangled_; }

 private:
  void expect(const std::string& file, const std::string& story) {
    ASSERT_TRUE(stories_.emplace(file, story).second) << file;
  }
  void add(const std::string& file, const std::string& text, const std::string& story) {
    world_.write(folder_ / file, text);
    expect(file, story);
  }
  // A manifest for a library that is there.
  void add_manifest(const std::string& name, const std::string& id, const std::string& library,
                    const std::string& story, const std::string& more = "") {
    add(name + ".json", manifest_text(id, library, more), story);
  }
  // A library, and its manifest.
  void add_plugin(const std::string& name, const std::string& id, const std::string& fixture, const std::string& story,
                  const std::string& more = "") {
    fs::copy_file(fixture_library(fixture), folder_ / (name + ".so"));
    add_manifest(name, id, name + ".so", story, more);
  }
  void add_link(const std::string& file, const fs::path& target, const std::string& story) {
    fs::create_symlink(target, folder_ / file);
    expect(file, story);
  }

  void add_good();
  void add_deadly();
  void add_broken_libraries();
  void add_wrong_binaries();
  void add_odd_files();
  void add_wrong_manifests();
  void add_unwanted();

  PluginWorld world_;
  fs::path folder_;
  std::map<std::string, std::string> stories_;
  std::set<std::string> entangled_;
};

void Zoo::add_good() {
  fs::copy_file(fixture_library("toy_cpu"), folder_ / "m-good.so");
  add(kGood, manifest_text(kGoodId, "m-good.so", ",\"variant\":{\"group\":\"org.test.good-variant\",\"rank\":9}"),
      "active active ok");
  fs::copy_file(BACKPLANE_EMBEDDED_PLUGIN, folder_ / "embedded.so");
  expect("embedded.so", "active active ok");
  fs::copy_file(fixture_library("toy_no_devices"), folder_ / "zz-none.so");
  add("zz-\xff.json", manifest_text("org.test.toy", "zz-none.so"), "active active ok");
}

// Each has an id of its own, so that none is in another's way.
void Zoo::add_deadly() {
  const std::pair<const char*, const char*> deeds[] = {
      {"constructor-abort", "crashed"}, {"constructor-exit0", "exited"}, {"constructor-hang", "timeout"},
      {"constructor-kill", "crashed"},  {"constructor-quit", "exited"},  {"constructor-trap", "crashed"},
      {"entry-segv", "crashed"},        {"negotiate-abort", "crashed"},  {"reply-unterminated", "crashed"},
      {"probe-trap", "crashed"},        {"open-abort", "crashed"},       {"open-exit", "exited"},
      {"open-forge", "exited"},         {"open-hang", "timeout"},        {"open-overflow", "crashed"},
      {"open-scrawl", "exited"},        {"open-segv", "crashed"},        {"open-vandal", "exited"},
      {"enumerate-abort", "crashed"},   {"info-segv", "crashed"},        {"close-abort", "crashed"},
      {"close-exit0", "exited"}};
  for (const auto& [deed, code] : deeds) {
    const std::string id = std::string("org.test.") + deed, library = std::string(deed) + "+" + id + ".so";
    fs::copy_file(fixture_library("bad"), folder_ / library);
    add_manifest(deed, id, library, std::string("failed probe probe.") + code);
  }
  // What would have shadowed the second one dies, so that it gets a trial of its own, and dies too.
  for (const char* name : {"variant-10", "variant-20"}) {
    const std::string library = std::string("constructor-segv+") + name + ".so";
    fs::copy_file(fixture_library("bad"), folder_ / library);
    add_manifest(name, "org.test.variant", library, "failed probe probe.crashed",
                 std::string(",\"variant\":{\"group\":\"org.test.variant\",\"rank\":") + (name + 8) + "}");
  }
  for (const char* name : {"same-id-1", "same-id-2"}) {
    const std::string library = std::string("constructor-segv+") + name + ".so";
    fs::copy_file(fixture_library("bad"), folder_ / library);
    add_manifest(name, "org.test.same-id", library, "failed probe probe.crashed");
  }
}

void Zoo::add_broken_libraries() {
  const std::pair<const char*, const char*> fixtures[] = {
      {"toy_no_entry", "failed symbol symbol.missing"},
      {"toy_no_open", "failed open symbol.missing-function"},
      {"toy_refuses", "failed negotiate negotiate.incompatible"},
      {"toy_negotiate_fails", "failed negotiate negotiate.failed"},
      {"toy_future_abi", "failed negotiate negotiate.bad-reply"},
      {"toy_null_id", "failed negotiate negotiate.bad-reply"},
      {"toy_reply_size", "failed negotiate negotiate.bad-reply"},
      {"toy_no_hardware", "skipped probe probe.no-hardware"},
      {"toy_open_error", "failed open open.failed"},
      {"toy_open_no_hardware", "skipped open open.no-hardware"},
      {"toy_short_table", "failed open tables.size"},
      {"toy_wrong_kind", "failed open tables.kind"},
      {"toy_null_slot", "failed open tables.slot"},
      {"toy_null_table", "failed open tables.missing"},
      {"toy_null_device", "failed enumerate enumerate.bad-device"},
      {"toy_many_devices", "failed enumerate enumerate.bad-device"},
      {"toy_same_device", "failed enumerate enumerate.bad-device"},
      {"toy_bad_name", "failed enumerate enumerate.bad-device"},
      {"toy_info_error", "failed enumerate abi.e_device_lost"},
      {"toy_throws_negotiate", "failed negotiate plugin.threw"},
      {"toy_throws_open", "failed open plugin.threw"},
      {"toy_throws_count", "failed enumerate plugin.threw"},
      {"toy_undefined_symbol", "failed dlopen dlopen.undefined-symbol"},
      {"toy_missing_library", "failed dlopen dlopen.missing-library"}};
  for (const auto& [fixture, story] : fixtures) add_plugin(fixture, "org.test.toy", fixture, story);
  add_plugin("wrong-id", "org.test.wrong-id", "toy", "failed negotiate negotiate.id-mismatch");
  add_plugin("entry-point", "org.test.entry-point", "toy", "failed symbol symbol.missing",
             ",\"entry_point\":\"get_nothing\"");
  add_plugin("truncated", "org.test.truncated", "toy", "failed arch elf.truncated");
  fs::resize_file(folder_ / "truncated.so", fs::file_size(folder_ / "truncated.so") / 2);
  add_plugin("header-only", "org.test.header-only", "toy", "failed arch elf.truncated");
  fs::resize_file(folder_ / "header-only.so", 64);
}

void Zoo::add_wrong_binaries() {
  const std::pair<const char*, const char*> binaries[] = {
    {"elf32", "skipped arch elf.class"},
    {"riscv64", "skipped arch elf.machine"},
    {"big-endian", "skipped arch elf.byte-order"},
    {"cut-off", "failed arch elf.truncated"},
    {"windows", "failed arch elf.magic"},
    {"macos", "failed arch elf.magic"},
    {"archive", "failed arch elf.magic"},
    {"linker-script", "failed arch elf.magic"},
    {"manifest", "failed arch elf.magic"},
#if defined(__x86_64__)
    {"aarch64", "skipped arch elf.machine"},
    {"program", "failed arch elf.type"},
    {"nothing-to-load", "failed arch elf.malformed"}
#else
    {"x86-64", "skipped arch elf.machine"}
#endif
  };
  for (const auto& [name, story] : binaries) {
    const std::string file = std::string(name) + ".so";
    fs::copy_file(fs::path(BACKPLANE_LOADER_BINARIES) / file, folder_ / file);
    add_manifest(name, std::string("org.test.binary-") + name, file, story);
  }
  const std::string program = fs::canonical("/proc/self/exe");
  add_manifest("self-program", "org.test.self-program", program, "failed arch library.self");
  add_manifest("self-core", "org.test.self-core", core_library_path(), "failed arch library.self");
}

void Zoo::add_odd_files() {
  ASSERT_EQ(mkfifo((folder_ / "pipe.json").c_str(), 0600), 0);
  expect("pipe.json", "failed found file.not-regular");
  ASSERT_EQ(mkfifo((folder_ / "pipe.so").c_str(), 0600), 0);
  expect("pipe.so", "failed found file.not-regular");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = folder_ / "socket.json";
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(socket);
  expect("socket.json", "failed found file.open");
  fs::create_directory(folder_ / "folder.json");
  expect("folder.json", "failed found file.not-regular");
  fs::create_directory(folder_ / "folder.so");
  expect("folder.so", "failed found file.not-regular");
  add_link("loop-1.json", "loop-2.json", "failed found file.open");
  add_link("loop-2.json", "loop-1.json", "failed found file.open");
  add_link("loop-self.so", "loop-self.so", "failed found file.open");
  add_link("dangling.json", "nowhere/at-all.json", "failed found file.missing");
  add_link("masked.json", "/dev/null", "skipped shadowed file.masked");
  add_link("zeros.json", "/dev/zero", "failed found file.not-regular");
  add_link("z-link.json", kGood, "skipped shadowed file.duplicate");
  entangled_.insert("z-link.json");
  add("unreadable.json", "{}", ::geteuid() == 0 ? "failed parsed manifest.missing-key" : "failed found file.open");
  fs::permissions(folder_ / "unreadable.json", fs::perms::none);
  add("odd-\xc3\x28.json", "{", "failed parsed manifest.syntax");
  add("line\nbreak.json", "{", "failed parsed manifest.syntax");
  add("empty.so", "", "skipped parsed library.no-manifest");
  add("text.so", "no library", "skipped parsed library.no-manifest");
  fs::copy_file(fixture_library("toy"), folder_ / "bare.so");
  expect("bare.so", "skipped parsed library.no-manifest");
  // It cannot be told to the helper, so it is not tried, so it is not loaded.
  fs::copy_file(BACKPLANE_FAKE_PLUGIN, folder_ / "bare-\xff.so");
  expect("bare-\xff.so", "failed probe probe.spawn");
  world_.write(folder_ / ".hidden.json", "{");
  world_.write(folder_ / "readme.txt", "no candidate");
}

void Zoo::add_wrong_manifests() {
  const std::pair<const char*, const char*> texts[] = {
      {"", "syntax"},
      {"null", "type"},
      {"[]", "type"},
      {"42", "type"},
      {"{}", "missing-key"},
      {"{\"file_format_version\":\"1.0\",}", "syntax"},
      {"{\"file_format_version\":\"9.0\",\"plugin\":{}}", "format-version"},
      {"{\"file_format_version\":\"1.0\",\"file_format_version\":\"1.0\"}", "duplicate-key"},
      {"{\"file_format_version\":\"1.0\",\"plugins\":{}}", "unknown-key"},
      {"{\"file_format_version\":\"1.0.0\",\"ICD\":{\"library_path\":\"libvulkan_x.so\"}}", "unknown-key"},
      {"{\"file_format_version\":\"1.0\",\"plugin\":{\"id\":\"org.test.x\",\"library_path\":\"~/x.so\"}}", "path"},
      {"{\"file_format_version\":\"1.0\",\"plugin\":{\"id\":\"Org Test\",\"library_path\":\"x.so\"}}", "value"},
      {"{\"file_format_version\":\"1.0\",\"plugin\":{\"id\":\"org.test.\xff\",\"library_path\":\"x.so\"}}", "utf8"}};
  for (const auto& [text, code] : texts)
    add("text-" + std::to_string(stories_.size()) + ".json", text, std::string("failed parsed manifest.") + code);
  add("utf-16.json", std::string("\xff\xfe{\0}\0", 6), "failed parsed manifest.utf8");
  add("deep.json", std::string(10'000, '['), "failed parsed manifest.too-deep");
  add("huge.json", std::string((1 << 20) + 1, ' '), "failed opened file.too-large");
  add("torn.json", "{", "failed parsed manifest.syntax");
  fs::copy_file(fixture_library("toy"), folder_ / "libtorn.so");
  expect("libtorn.so", "skipped parsed library.broken-manifest");
  entangled_.insert("libtorn.so");
  add_manifest("no-library", "org.test.no-library", "nowhere.so", "failed arch file.missing");
  add_manifest("library-pipe", "org.test.library-pipe", "pipe.so", "failed arch file.not-regular");
  add_manifest("library-folder", "org.test.library-folder", "folder.so", "failed arch file.not-regular");
  add_manifest("library-loop", "org.test.library-loop", "loop-self.so", "failed arch file.open");
  add("platform.json", R"({"file_format_version":"1.0",
    "plugin":{"id":"org.test.platform","library_path":{"linux-vax":"x.so"}}})",
      "skipped arch manifest.platform");
}

void Zoo::add_unwanted() {
  const std::string zeros(64, '0');
  add_plugin("pin", "org.test.pin", "toy", "failed pin pin.mismatch", ",\"sha256\":\"" + zeros + "\"");
  add_plugin("pin-of-user", "org.test.pin-of-user", "toy", "failed pin pin.mismatch");
  add_plugin("newer-abi", "org.test.newer-abi", "toy", "failed negotiate negotiate.incompatible",
             ",\"abi\":{\"min\":\"7.0\",\"max\":\"7.9\"}");
  add_plugin("cpu", "org.test.cpu", "toy", "skipped cpu cpu.missing-feature", ",\"requires\":{\"cpu\":[\"quantum\"]}");
  add_plugin("off", "org.test.off", "bad", "skipped filtered filter.disabled");
  add_plugin("off-by-glob", "org.test.off-by-glob", "bad", "skipped filtered filter.disabled");
  world_.set("BACKPLANE_PLUGINS_DISABLE", "*-by-glob");
  add_plugin("options", "org.test.options", "toy", "failed validated options.type", ",\"options\":{\"name\":\"x\"}");
  add_plugin("n-same-id", kGoodId, "toy_cpu", "skipped shadowed plugin.duplicate-id");
  add_manifest("n-same-library", "org.test.same-library", "m-good.so", "skipped shadowed library.duplicate");
  add_plugin("variant-5", "org.test.toy-cpu", "toy_cpu", "skipped shadowed variant.lower-rank",
             ",\"variant\":{\"group\":\"org.test.good-variant\",\"rank\":5}");
  world_.write(world_.folder("config/backplane/conf.d") / "50-zoo.json",
               R"({"file_format_version": "1.0", "probe_timeout_ms": 4000, "plugins": {
                   "org.test.off": {"enabled": false},
                   "org.test.pin-of-user": {"sha256": ")" +
                   zeros + R"("}, "org.test.options": {"options": {"name": 1}}}})");
}

std::string file_name(const LoadReport& report) { return fs::path(report.requested).filename(); }

std::string story(const LoadReport& report) {
  return std::string(outcome_name(report.outcome)) + " " + std::string(stage_name(report.stage)) + " " + report.code;
}

// One line a report, in their order.
std::string table(const std::vector<LoadReport>& reports) {
  std::string text;
  for (const LoadReport& report : reports) text += file_name(report) + ": " + story(report) + "\n";
  return text;
}

class MisbehaviourTest : public ::testing::Test {
 protected:
  void open(const char* probe) {
    runtime_.reset();
    zoo_.world().set("BACKPLANE_PROBE", probe);
    RuntimeOptions options;
    options.environment = zoo_.world().environment();
    options.worker_count = 2;
    Result<std::unique_ptr<Runtime>> runtime = Runtime::open(std::move(options));
    ASSERT_TRUE(runtime.ok()) << runtime.status().message();
    runtime_ = std::move(*runtime);
  }
  // How many of the reports say that an earlier trial decided.
  size_t remembered() const {
    const auto reports = runtime_->reports();
    return static_cast<size_t>(std::count_if(reports.begin(), reports.end(), [](const LoadReport& report) {
      return report.message.find("(an earlier trial)") != std::string::npos;
    }));
  }
  // The good plugin computes, whatever is beside it.
  void expect_that_the_good_one_works() {
    size_t own = 0;
    for (Device* device : runtime_->devices()) {
      if (device->plugin_id() != kGoodId) continue;
      ++own;
      Result<Buffer> buffer = device->allocate(0, 16, 0);
      ASSERT_TRUE(buffer.ok()) << buffer.status().message();
      EXPECT_TRUE(buffer->fill(0, 16, 7).ok());
    }
    EXPECT_EQ(own, 2u);
  }

  Zoo zoo_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(MisbehaviourTest, EveryCandidateEndsInOneReportAndTheGoodOnesWork) {
  open("always");
  std::string wanted;
  for (const auto& [file, story] : zoo_.stories()) wanted += file + ": " + story + "\n";
  const std::string found = table(runtime_->reports());
  EXPECT_EQ(found, wanted);
  EXPECT_GE(zoo_.stories().size(), 100u);
  expect_that_the_good_one_works();
  for (const LoadReport& report : runtime_->reports()) {
    EXPECT_FALSE(report.message.empty()) << file_name(report);
    if (report.outcome == LoadOutcome::failed) {
      EXPECT_FALSE(report.hint.empty()) << file_name(report) << " " << report.code;
    }
  }

  // Nothing changes when all is done again, nor when what happened in the trials is remembered.
  open("cached");
  EXPECT_EQ(table(runtime_->reports()), found);
  EXPECT_EQ(remembered(), 0u);
  open("cached");
  EXPECT_EQ(table(runtime_->reports()), found);
  size_t deadly = 0;
  for (const auto& [file, story] : zoo_.stories())
    deadly += story.find("probe.crashed") + 1 || story.find("probe.exited") + 1 || story.find("probe.timeout") + 1;
  EXPECT_EQ(remembered(), deadly);
  expect_that_the_good_one_works();
}

// A folder, or what leads nowhere, is another matter if it is named: a place, or none.
bool can_be_named(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_directory(status);
}

// Hangs are left out, only for the time that they take.
TEST_F(MisbehaviourTest, EachOneAloneEndsAsItDoesAmongTheOthers) {
  const std::string good = (zoo_.folder() / kGood).string();
  for (const auto& [file, wanted] : zoo_.stories()) {
    if (file == kGood || zoo_.entangled().contains(file) || wanted.ends_with("probe.timeout")) continue;
    if (!can_be_named(zoo_.folder() / file)) continue;
    SCOPED_TRACE(file);
    zoo_.world().set("BACKPLANE_PLUGIN_PATH", good + ":" + (zoo_.folder() / file).string());
    open("cached");
    const std::vector<LoadReport> reports = runtime_->reports();
    ASSERT_EQ(reports.size(), 2u);
    EXPECT_EQ(story(reports[0]), "active active ok");
    EXPECT_EQ(file_name(reports[1]), file);
    EXPECT_EQ(story(reports[1]), wanted);
    expect_that_the_good_one_works();
  }
}

}  // namespace
}  // namespace backplane
