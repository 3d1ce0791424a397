#include "registry/scan/pin.hpp"

#include <gtest/gtest.h>

#include "fixtures/plugin_world.hpp"

namespace backplane {
namespace {

constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Pin, HoldsTheContent) {
  PluginWorld world;
  const RegularFile file = RegularFile::open(world.write(world.root() / "f", "abc")).value();
  EXPECT_EQ(file_digest(file).value(), kAbc);
  EXPECT_TRUE(check_pin(file, kAbc, "x").ok());
  EXPECT_TRUE(check_pin(file, "", "x").ok());
  const Status status = check_pin(file, std::string(64, '0'), "the manifest");
  EXPECT_EQ(status.id(), "pin.mismatch");
  EXPECT_NE(status.message().find(kAbc), std::string::npos);
}

TEST(Pin, ReadsFilesOfAnySize) {
  PluginWorld world;
  EXPECT_EQ(file_digest(RegularFile::open(world.write(world.root() / "empty", "")).value()).value(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const std::string big(3 * (1 << 20) + 17, 'a');  // sha256sum of as many 'a'
  EXPECT_EQ(file_digest(RegularFile::open(world.write(world.root() / "big", big)).value()).value(),
            "8cb91458835f2fefeb12cf01e67a7ea18523a0567d4835a974dc04c2ddbb955b");
}

}  // namespace
}  // namespace backplane
