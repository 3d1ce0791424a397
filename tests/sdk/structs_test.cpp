#include "backplane/sdk/structs.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "backplane/abi/abi.h"

namespace backplane::sdk {
namespace {

constexpr uint32_t kKind = BP_KIND_STREAM_DESC;
constexpr size_t kKnown = sizeof(bp_stream_desc);

// A struct as an owner of another version compiled it: `size` bytes, 0xEE behind the head, guarded at the end so that
// AddressSanitizer sees every byte too many.
class Foreign {
 public:
  Foreign(uint32_t size, uint32_t kind) : bytes_(size, std::byte{0xEE}) {
    const bp_head head{size, kind, nullptr};
    std::memcpy(bytes_.data(), &head, sizeof head);
  }
  bp_stream_desc* get() { return reinterpret_cast<bp_stream_desc*>(bytes_.data()); }
  std::byte at(size_t i) const { return bytes_[i]; }

 private:
  std::vector<std::byte> bytes_;
};

// R4: input of any size from the prefix up; fields that the caller did not have are zero.
TEST(ReadInput, ReadsEverySizeFromThePrefixUp) {
  constexpr uint32_t kPrefix = sizeof(bp_head) + 4;
  for (uint32_t size = kPrefix; size <= kKnown + 64; ++size) {
    Foreign input(size, kKind);
    const bp_stream_desc local = read_input(input.get(), kKind, kPrefix);
    EXPECT_EQ(local.priority, 0xEEEEEEEEu);
    uint32_t flags = 0;
    for (uint32_t byte = 0; byte < 4; ++byte)
      if (kPrefix + byte < size) flags |= 0xEEu << (8 * byte);
    EXPECT_EQ(local.flags, flags) << "size " << size;
  }
}

TEST(ReadInput, RefusesEverySizeBelowThePrefix) {
  for (uint32_t size = sizeof(bp_head); size < kKnown; ++size) {
    Foreign input(size, kKind);
    EXPECT_THROW(read_input(input.get(), kKind), Error) << "size " << size;
  }
}

TEST(ReadInput, RefusesNullAndWrongKindsSayingBoth) {
  EXPECT_THROW(read_input(static_cast<bp_stream_desc*>(nullptr), kKind), Error);
  Foreign input(kKnown, BP_KIND_EVENT_DESC);
  try {
    read_input(input.get(), kKind);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), BP_E_INVALID_ARG);
    EXPECT_NE(std::string(error.what()).find("kind 10"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("kind 11"), std::string::npos) << error.what();
  }
}

// R9
TEST(ReadInput, SkipsUnknownChainsAndRefusesThoseThatMustBeUnderstood) {
  Foreign input(kKnown, kKind);
  bp_head last{sizeof last, 9999 | BP_KIND_MUST_UNDERSTAND, nullptr};
  bp_head first{sizeof first, 9998, nullptr};
  input.get()->head.next = &first;
  EXPECT_NO_THROW(read_input(input.get(), kKind));
  first.next = &last;
  EXPECT_THROW(read_input(input.get(), kKind), Error);
}

// R5: at most the caller's size, at most ours, never the head.
TEST(WriteOutput, WritesWhatBothHaveAndNothingElse) {
  bp_stream_desc value{};
  std::memset(static_cast<void*>(&value), 0x11, sizeof value);
  for (uint32_t size = sizeof(bp_head); size <= kKnown + 64; ++size) {
    Foreign output(size, kKind);
    write_output(output.get(), kKind, value);
    EXPECT_EQ(output.get()->head.size, size);
    EXPECT_EQ(output.get()->head.kind, kKind);
    EXPECT_EQ(output.get()->head.next, nullptr);
    for (size_t i = sizeof(bp_head); i < size; ++i)
      EXPECT_EQ(output.at(i), i < kKnown ? std::byte{0x11} : std::byte{0xEE}) << "size " << size << ", byte " << i;
  }
}

TEST(WriteOutput, RefusesNullAndWrongKinds) {
  const bp_stream_desc value{};
  EXPECT_THROW(write_output(static_cast<bp_stream_desc*>(nullptr), kKind, value), Error);
  Foreign output(kKnown, BP_KIND_EVENT_DESC);
  EXPECT_THROW(write_output(output.get(), kKind, value), Error);
  EXPECT_EQ(output.at(sizeof(bp_head)), std::byte{0xEE});
}

}  // namespace
}  // namespace backplane::sdk
