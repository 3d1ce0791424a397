#include "backplane/base/sha256.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace backplane {
namespace {

void feed(Sha256& hash, std::string_view text) { hash.update(std::as_bytes(std::span(text.data(), text.size()))); }

std::string digest(std::string_view text) {
  Sha256 hash;
  feed(hash, text);
  return hash.finish();
}

// The examples that NIST gives for FIPS 180.
TEST(Sha256, AgreesWithThePublishedExamples) {
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, PiecesAndReuseMakeNoDifference) {
  Sha256 hash;
  feed(hash, "a");
  feed(hash, "bc");
  EXPECT_EQ(hash.finish(), digest("abc"));
  feed(hash, "abc");
  EXPECT_EQ(hash.finish(), digest("abc"));
}

}  // namespace
}  // namespace backplane
