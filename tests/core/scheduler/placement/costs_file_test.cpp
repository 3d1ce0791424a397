#include "scheduler/placement/costs_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "backplane/runtime/runtime.hpp"
#include "fake_runtime.hpp"

namespace backplane {
namespace {

using testing::FakeRuntime;

MeasuredDevice device_of_version(std::string version) { return {"org.example.x", std::move(version), "pci:1", "x", 2}; }

DeviceCosts odd_costs(int64_t salt) {
  DeviceCosts costs;
  costs.calibrated = true;
  costs.launch_ns = salt + 1;
  costs.split_ns = salt + 2;
  costs.flops_per_us = {salt + 3, salt + 4, salt + 5, salt + 6, salt + 7, salt + 8};
  costs.bytes_per_us = salt + 9;
  costs.link_latency_ns = 0;
  costs.link_bytes_per_us = salt + 10;
  return costs;
}

TEST(CostsFile, WhatIsWrittenIsReadAgain) {
  CostsFile file;
  file.set(device_of_version("1"), odd_costs(0));
  MeasuredDevice other = device_of_version("1");
  other.device = "pci:2";
  file.set(other, odd_costs(1000));
  const CostsFile again = CostsFile::parse(file.to_json().dump(), "f").value();
  EXPECT_EQ(*again.find(device_of_version("1")), odd_costs(0));
  EXPECT_EQ(*again.find(other), odd_costs(1000));
}

TEST(CostsFile, FiguresAreOfOneVersionAndNumberOfWorkers) {
  CostsFile file;
  file.set(device_of_version("1"), odd_costs(0));
  EXPECT_EQ(file.find(device_of_version("2")), nullptr);
  MeasuredDevice more_workers = device_of_version("1");
  more_workers.workers = 3;
  EXPECT_EQ(file.find(more_workers), nullptr);
  file.set(device_of_version("2"), odd_costs(7));
  EXPECT_EQ(*file.find(device_of_version("2")), odd_costs(7));
  EXPECT_EQ(file.find(device_of_version("1")), nullptr);  // the older figures are let go of
}

// Every member that is missing, one too many, and of another kind.
TEST(CostsFile, EveryFaultIsAnErrorWithItsPlace) {
  CostsFile file;
  file.set(device_of_version("1"), odd_costs(0));
  const std::string text = file.to_json().dump(-1);
  ASSERT_TRUE(CostsFile::parse(text, "f").ok());
  size_t names = 0;
  for (size_t at = text.find("\":"); at != std::string::npos; at = text.find("\":", at + 1), ++names) {
    std::string renamed = text, broken = text;
    renamed.insert(at, "_");
    const size_t value = at + 2;
    broken.replace(value, 1, text[value] == '[' || text[value] == '{' ? "[1,{" : "[],\"x\":");
    const Status status = CostsFile::parse(renamed, "costs.json").status();
    EXPECT_EQ(status.id(), "costs.syntax") << renamed;
    EXPECT_TRUE(status.message().starts_with("costs.json:1:")) << status.message();
    EXPECT_FALSE(CostsFile::parse(broken, "f").ok()) << broken;
  }
  EXPECT_EQ(names, 20u);
  for (const char* figure : {"-1", "1.5", "1000000000001", "9223372036854775808", "\"1\"", "null"}) {
    std::string bad = text;
    const size_t value = bad.find("\"launch_ns\":") + 12;
    bad.replace(value, bad.find(',', value) - value, figure);
    EXPECT_FALSE(CostsFile::parse(bad, "f").ok()) << bad;
  }
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(CostsFile::parse(text.substr(0, length), "f").ok()) << length;
}

class CalibrationFile : public ::testing::Test {
 protected:
  CalibrationFile() { std::filesystem::remove_all(folder_); }
  ~CalibrationFile() override { std::filesystem::remove_all(folder_); }
  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(std::string_view text) {
    std::filesystem::create_directories(folder_ + "/deep");
    std::ofstream(path_) << text;
  }

  const std::string folder_ = ::testing::TempDir() + "backplane-costs-" + std::to_string(::getpid());
  const std::string path_ = folder_ + "/deep/costs.json";
  FakeRuntime runtime_{R"({"devices": 2})"};
};

TEST_F(CalibrationFile, IsMadeAndThenUsed) {
  const std::vector<DeviceCosts> measured = calibrate(*runtime_, runtime_.devices(), path_).value();
  ASSERT_EQ(measured.size(), 2u);
  EXPECT_TRUE(measured[0].calibrated);
  EXPECT_EQ(calibrate(*runtime_, runtime_.devices(), path_).value(), measured);
  // What the file says is what counts.
  CostsFile file = CostsFile::read(path_).value();
  file.set(MeasuredDevice::of(*runtime_, *runtime_.devices()[1]), odd_costs(42));
  put(file.to_json().dump());
  const std::vector<DeviceCosts> changed = calibrate(*runtime_, runtime_.devices(), path_).value();
  EXPECT_EQ(changed[0], measured[0]);
  EXPECT_EQ(changed[1], odd_costs(42));
}

TEST_F(CalibrationFile, ABrokenOneIsAnErrorAndIsLeftAlone) {
  put("{\"backplane_costs\": 2}");
  EXPECT_EQ(calibrate(*runtime_, runtime_.devices(), path_).status().id(), "costs.syntax");
  EXPECT_EQ(text(), "{\"backplane_costs\": 2}");
}

TEST_F(CalibrationFile, OneThatCannotBeWrittenIsAnError) {
  const Status status = calibrate(*runtime_, runtime_.devices(), "/dev/null/costs.json").status();
  EXPECT_EQ(status.code(), Code::failed_precondition);
  EXPECT_NE(status.message().find("/dev/null/costs.json"), std::string::npos) << status.message();
}

TEST_F(CalibrationFile, GuessesAreNotKept) {
  FakeRuntime losing(R"({"devices": 1, "lose_at_call": 2})");
  EXPECT_FALSE(calibrate(*losing, losing.devices(), path_).value()[0].calibrated);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace backplane
