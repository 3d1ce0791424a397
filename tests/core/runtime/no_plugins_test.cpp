// A Runtime without any plugin: every call has an answer.
#include "toy_runtime.hpp"

namespace backplane {
namespace {

class NoPluginsTest : public ToyRuntime {
 protected:
  void SetUp() override { open(); }
};

TEST_F(NoPluginsTest, ListsAreEmpty) {
  EXPECT_TRUE(runtime_->devices().empty());
  EXPECT_TRUE(runtime_->devices_of_type(BP_DEVICE_CPU).empty());
  EXPECT_TRUE(runtime_->plugins().empty());
  EXPECT_TRUE(runtime_->reports().empty());
  EXPECT_TRUE(runtime_->notices().empty());
  EXPECT_TRUE(runtime_->select("").value().empty());
  ASSERT_NE(runtime_->configuration(), nullptr);
  EXPECT_TRUE(runtime_->configuration()->plugins.empty());
}

TEST_F(NoPluginsTest, AskingForADeviceSaysThatThereIsNone) {
  for (const Status& status :
       {runtime_->best_device().status(), runtime_->device("cpu0").status(), runtime_->device("").status(),
        runtime_->select("cpu0").status(), runtime_->select(",").status()}) {
    EXPECT_EQ(status.code(), Code::not_found);
    EXPECT_EQ(status.id(), "device.not-found");
    EXPECT_NE(status.message().find("the load reports say why"), std::string::npos) << status.message();
  }
}

TEST_F(NoPluginsTest, TheRestWorks) {
  EXPECT_EQ(runtime_->extension<bp_table_head>("org.test.none", "any"), nullptr);
  EXPECT_EQ(runtime_->workers().count(), 2u);
  EXPECT_FALSE(runtime_->log().enabled(LogLevel::error, "any"));
  const bp_run_id run = runtime_->begin_run();
  EXPECT_NE(run, 0u);
  EXPECT_NE(runtime_->begin_run(), run);
  runtime_->cancel_run(run);
  runtime_->cancel_run(0);
  runtime_->finish_run(run);
  runtime_->finish_run(run);
  EXPECT_TRUE(runtime_->rescan().ok());
  EXPECT_TRUE(runtime_->devices().empty());
}

}  // namespace
}  // namespace backplane
