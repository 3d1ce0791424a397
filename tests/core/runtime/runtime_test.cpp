#include "backplane/runtime/runtime.hpp"

#include "toy_runtime.hpp"

namespace backplane {
namespace {

class RuntimeTest : public ToyRuntime {
 protected:
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Device* device : runtime_->devices()) names.push_back(device->name());
    return names;
  }
  std::string code_of(const std::string& plugin_id) const {
    for (const LoadReport& report : runtime_->reports())
      if (report.plugin_id == plugin_id) return report.code;
    return "none";
  }
};

using Names = std::vector<std::string>;

TEST_F(RuntimeTest, NothingFoundIsNoError) {
  open();
  EXPECT_TRUE(runtime_->devices().empty());
  const auto device = runtime_->device("cpu0");
  EXPECT_EQ(device.status().code(), Code::not_found);
  EXPECT_NE(device.status().message().find("there are none"), std::string::npos);
  EXPECT_TRUE(runtime_->select("").value().empty());
}

TEST_F(RuntimeTest, GpusComeBeforeCpusAndNamesAreUnique) {
  world_.install(world_.folder("plugins"), "toy_cpu", "org.test.toy-cpu");
  install("toy");
  open();
  EXPECT_EQ(names(), (Names{"toy0", "toy0.2", "toy1"}));
  EXPECT_EQ(runtime_->devices()[0]->type_name(), "gpu");
  EXPECT_EQ(runtime_->devices()[1]->selector(), "org.test.toy-cpu:0");
}

TEST_F(RuntimeTest, SelectsByNameAndSelectorInOrderWithoutRepetition) {
  install("toy_cpu", "org.test.toy-cpu");
  install("toy");
  open();
  EXPECT_EQ(runtime_->device("toy1").value()->selector(), "org.test.toy-cpu:1");
  EXPECT_EQ(runtime_->device("org.test.toy:0").value()->name(), "toy0");
  const auto selected = runtime_->select(" toy1, toy0,org.test.toy-cpu:1").value();
  ASSERT_EQ(selected.size(), 2u);
  EXPECT_EQ(selected[0]->name(), "toy1");
  EXPECT_EQ(selected[1]->name(), "toy0");
  EXPECT_EQ(runtime_->select("").value().size(), 3u);
  const Status status = runtime_->select("toy0,toy9").status();
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_NE(status.message().find("toy0, toy0.2, toy1"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("did you mean"), std::string::npos) << status.message();
  EXPECT_FALSE(runtime_->select("toy0,").ok());
}

TEST_F(RuntimeTest, AnUnusableDeviceRejectsItsPluginOnly) {
  install("toy_info_error");
  install("toy_cpu", "org.test.toy-cpu");
  open();
  EXPECT_EQ(names(), (Names{"toy0", "toy1"}));
  EXPECT_EQ(code_of("org.test.toy"), "abi.e_device_lost");
  EXPECT_EQ(code_of("org.test.toy-cpu"), "ok");
}

TEST_F(RuntimeTest, DeviceNamesMustBeFitForLists) {
  install("toy_bad_name");
  open();
  EXPECT_TRUE(runtime_->devices().empty());
  EXPECT_EQ(code_of("org.test.toy"), "enumerate.bad-device");
}

TEST_F(RuntimeTest, UsesTheApplicationsPoolAndLog) {
  class OwnWorkers final : public Workers {
   public:
    uint32_t count() const override { return 7; }
    Status parallel_for(uint32_t, uint32_t, bp_task_fn, void*) override { return {}; }
  } workers;
  std::vector<std::string> lines;
  RuntimeOptions options;
  options.workers = &workers;
  options.search_system = false;
  options.plugin_paths = {world_.folder("plugins")};
  options.logger = std::make_shared<Logger>(
      [&](LogLevel, std::string_view topic, std::string_view text) {
        lines.push_back(std::string(topic) + ": " + std::string(text));
      },
      LogLevel::info);
  install("toy");
  runtime_ = Runtime::open(options).value();
  EXPECT_EQ(&runtime_->workers(), &workers);
  EXPECT_EQ(&runtime_->log(), options.logger.get());
  runtime_.reset();
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back(), "org.test.toy: closed");
}

TEST_F(RuntimeTest, FindsDevicesByTypeAndTheBest) {
  open();
  EXPECT_EQ(runtime_->best_device().status().code(), Code::not_found);
  install("toy_cpu", "org.test.toy-cpu");
  install("toy");
  ASSERT_TRUE(runtime_->rescan().ok());
  EXPECT_EQ(runtime_->best_device().value()->selector(), "org.test.toy:0");
  const auto cpus = runtime_->devices_of_type(BP_DEVICE_CPU);
  ASSERT_EQ(cpus.size(), 2u);
  EXPECT_EQ(cpus[0]->selector(), "org.test.toy-cpu:0");
  EXPECT_TRUE(runtime_->devices_of_type(BP_DEVICE_ACCEL).empty());
  EXPECT_EQ(runtime_->select("*-cpu:*").value(), cpus);
}

TEST_F(RuntimeTest, FindsPluginsAndTheirExtensionsByName) {
  install("toy");
  open();
  const std::vector<PluginInfo> plugins = runtime_->plugins();
  ASSERT_EQ(plugins.size(), 1u);
  EXPECT_EQ(plugins[0].id, "org.test.toy");
  EXPECT_EQ(plugins[0].version, "1.2.3");
  EXPECT_EQ(plugins[0].library_path, world_.root() / "plugins" / "toy.so");
  EXPECT_EQ(plugins[0].abi, BP_ABI_VERSION);
  const auto* box = runtime_->extension<bp_table_head>("org.test.toy", "toy.box");
  ASSERT_NE(box, nullptr);
  EXPECT_EQ(box->kind, BP_KIND_TABLE_EXTENSION);
  EXPECT_EQ(runtime_->extension<bp_table_head>("org.test.toy", "toy.box", 2), nullptr);
  EXPECT_EQ(runtime_->extension<bp_table_head>("org.test.toy", "toy.none"), nullptr);
  EXPECT_EQ(runtime_->extension<bp_table_head>("org.test.none", "toy.box"), nullptr);
}

TEST_F(RuntimeTest, RescanKeepsDevicesAndTheirNames) {
  install("toy");
  open();
  Device* const first = runtime_->devices().at(0);
  install("toy_cpu", "org.test.toy-cpu");
  ASSERT_TRUE(runtime_->rescan().ok());
  EXPECT_EQ(names(), (Names{"toy0", "toy0.2", "toy1"}));
  EXPECT_EQ(runtime_->devices().at(0), first);
  ASSERT_TRUE(runtime_->rescan().ok());
  EXPECT_EQ(names(), (Names{"toy0", "toy0.2", "toy1"}));
}

TEST_F(RuntimeTest, TheEnvironmentChoosesDevices) {
  install("toy_cpu", "org.test.toy-cpu");
  install("toy");
  world_.set("BACKPLANE_PLUGIN_PATH", world_.folder("plugins"));
  world_.set("BACKPLANE_DEVICES", "toy1, org.test.toy:0, toy7");
  RuntimeOptions options;
  options.environment = world_.environment();
  runtime_ = Runtime::open(options).value();
  EXPECT_EQ(names(), (Names{"toy1", "toy0"}));
  const std::vector<Notice> notices = runtime_->notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].code, "device.not-found");
  EXPECT_EQ(notices[0].severity, Severity::error);
}

TEST_F(RuntimeTest, EnvironmentIsInjected) {
  install("toy");
  world_.set("BACKPLANE_PLUGIN_PATH", world_.folder("plugins"));
  RuntimeOptions options;
  options.environment = world_.environment();
  runtime_ = Runtime::open(options).value();
  EXPECT_EQ(names(), (Names{"toy0"}));
}

}  // namespace
}  // namespace backplane
