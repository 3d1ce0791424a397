#include "backplane/base/status.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace backplane {
namespace {

TEST(Status, SuccessIsEmpty) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), Code::ok);
  EXPECT_EQ(status.to_string(), "ok");
  EXPECT_TRUE(status.with_context("x").ok());
}

TEST(Status, KeepsCodeMessageAndId) {
  const Status status = invalid_argument("bad key", "manifest.unknown-key");
  const Status copy = status.with_context("a.json");
  EXPECT_EQ(copy.code(), Code::invalid_argument);
  EXPECT_EQ(copy.message(), "a.json: bad key");
  EXPECT_EQ(copy.id(), "manifest.unknown-key");
  EXPECT_EQ(status.to_string(), "invalid_argument: bad key");
}

Result<std::unique_ptr<int>> half(int value) {
  if (value % 2 != 0) return invalid_argument("odd");
  return std::make_unique<int>(value / 2);
}

Result<int> quarter(int value) {
  BP_TRY_ASSIGN(const auto first, half(value));
  BP_TRY_ASSIGN(const auto second, half(*first));
  return *second;
}

TEST(Result, PropagatesThroughTheMacros) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).status().message(), "odd");
}

TEST(AbiError, TurnsACodeIntoAStatus) {
  AbiError error;
  std::strcpy(error.record().message, "no room");
  const Status status = error.status(BP_E_DEVICE_MEMORY, "buffer_create");
  EXPECT_EQ(status.code(), Code::resource_exhausted);
  EXPECT_EQ(status.id(), "abi.e_device_memory");
  EXPECT_EQ(status.message(), "buffer_create: no room");
}

TEST(AbiError, UnknownCodesFollowTheRule) {
  const AbiError error;
  EXPECT_TRUE(error.status(77, "x").ok());
  EXPECT_EQ(error.status(-77, "x").code(), Code::unknown);
  EXPECT_FALSE(error.status(-77, "x").message().empty());
}

}  // namespace
}  // namespace backplane
