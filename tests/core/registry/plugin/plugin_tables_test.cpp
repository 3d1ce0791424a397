#include "registry/plugin/plugin_tables.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace backplane {
namespace {

// Fills every slot of a table with the address of one function; the test calls none of them.
template <class Table>
Table full_table(uint32_t kind) {
  Table table;
  void (*const fn)() = [] {};
  auto* bytes = reinterpret_cast<unsigned char*>(&table);
  for (size_t at = sizeof(bp_table_head); at < sizeof table; at += sizeof fn) std::memcpy(bytes + at, &fn, sizeof fn);
  table.head = {sizeof table, kind};
  return table;
}

class PluginTablesTest : public ::testing::Test {
 protected:
  std::string adopt() {
    const Status status = tables_.adopt(opened_);
    return status.ok() ? "ok" : status.id();
  }

  bp_plugin_i plugin_ = full_table<bp_plugin_i>(BP_KIND_TABLE_PLUGIN);
  bp_device_i device_ = full_table<bp_device_i>(BP_KIND_TABLE_DEVICE);
  bp_buffer_i buffer_ = full_table<bp_buffer_i>(BP_KIND_TABLE_BUFFER);
  bp_stream_i stream_ = full_table<bp_stream_i>(BP_KIND_TABLE_STREAM);
  bp_event_i event_ = full_table<bp_event_i>(BP_KIND_TABLE_EVENT);
  bp_program_i program_ = full_table<bp_program_i>(BP_KIND_TABLE_PROGRAM);
  bp_opened opened_ = {{sizeof(bp_opened), BP_KIND_OPENED, nullptr},
                       nullptr,
                       &plugin_,
                       &device_,
                       &buffer_,
                       &stream_,
                       &event_,
                       &program_};
  PluginTables tables_;
};

TEST_F(PluginTablesTest, CopiesWhatIsThere) {
  ASSERT_EQ(adopt(), "ok");
  EXPECT_NE(tables_.opened().device_i, &device_);
  EXPECT_EQ(tables_.opened().device_i->get_info, device_.get_info);
  EXPECT_EQ(tables_.opened().stream_i->cancel, stream_.cancel);
}

TEST_F(PluginTablesTest, OptionalSlotsAnswerUnsupported) {
  buffer_.map = nullptr;
  stream_.record = nullptr;
  device_.event_create = nullptr;
  plugin_.set_options = nullptr;
  opened_.event_i = nullptr;
  opened_.program_i = nullptr;
  ASSERT_EQ(adopt(), "ok");
  const bp_opened& own = tables_.opened();
  AbiError error;
  void* address = nullptr;
  EXPECT_EQ(own.buffer_i->map(nullptr, 0, 0, 0, &address, error), BP_E_UNSUPPORTED);
  EXPECT_EQ(error.record().code, BP_E_UNSUPPORTED);
  EXPECT_STRNE(error.record().message, "");
  EXPECT_EQ(own.stream_i->record(nullptr, nullptr, nullptr), BP_E_UNSUPPORTED);
  EXPECT_EQ(own.device_i->event_create(nullptr, nullptr, nullptr, nullptr), BP_E_UNSUPPORTED);
  EXPECT_EQ(own.plugin_i->set_options(nullptr, nullptr, 0, 0, nullptr), BP_E_UNSUPPORTED);
  EXPECT_EQ(own.event_i->wait_host(nullptr, 0, nullptr), BP_E_UNSUPPORTED);
  EXPECT_EQ(own.program_i->update(nullptr, nullptr, nullptr), BP_E_UNSUPPORTED);
  own.event_i->destroy(nullptr);
  own.program_i->destroy(nullptr);
}

// The frozen plugin of ABI 1.0 has none of these.
TEST_F(PluginTablesTest, WhatNobodyHasToAnswerMayBeLeftOut) {
  plugin_.get_extension = nullptr;
  device_.get_extension = nullptr;
  device_.foreign_access = nullptr;
  ASSERT_EQ(adopt(), "ok");
  const bp_opened& own = tables_.opened();
  EXPECT_EQ(own.plugin_i->get_extension(nullptr, "any", 1), nullptr);
  EXPECT_EQ(own.device_i->get_extension(nullptr, "any", 1), nullptr);
  uint32_t access = 7;
  EXPECT_EQ(own.device_i->foreign_access(nullptr, nullptr, &access, nullptr), BP_OK);
  EXPECT_EQ(access, 0u);
}

TEST_F(PluginTablesTest, UnsupportedRespectsSmallErrorTexts) {
  buffer_.unmap = nullptr;
  ASSERT_EQ(adopt(), "ok");
  char text[4] = {'x', 'x', 'x', 'x'};
  bp_error error = {};
  error.message = text;
  error.message_cap = 3;
  EXPECT_EQ(tables_.opened().buffer_i->unmap(nullptr, &error), BP_E_UNSUPPORTED);
  EXPECT_EQ(text[2], '\0');
  EXPECT_EQ(text[3], 'x');
  EXPECT_GT(error.message_len, 3u);
}

TEST_F(PluginTablesTest, LongerTablesOfLaterVersionsAreFine) {
  struct Later {
    bp_stream_i known;
    void (*new_slot)();
  } later{stream_, nullptr};
  later.known.head.size = sizeof later;
  opened_.stream_i = &later.known;
  ASSERT_EQ(adopt(), "ok");
  EXPECT_EQ(tables_.opened().stream_i->head.size, sizeof(bp_stream_i));
}

TEST_F(PluginTablesTest, RefusesBrokenTables) {
  device_.head.kind = BP_KIND_TABLE_BUFFER;
  EXPECT_EQ(adopt(), "tables.kind");
  device_.head = {sizeof(bp_device_i) - 1, BP_KIND_TABLE_DEVICE};
  EXPECT_EQ(adopt(), "tables.size");
  device_.head.size = 0;
  EXPECT_EQ(adopt(), "tables.size");
  device_.head.size = sizeof(bp_device_i);
  device_.query_nodes = nullptr;
  const Status status = tables_.adopt(opened_);
  EXPECT_EQ(status.id(), "tables.slot");
  EXPECT_NE(status.message().find("query_nodes"), std::string::npos);
  opened_.stream_i = nullptr;
  device_ = full_table<bp_device_i>(BP_KIND_TABLE_DEVICE);
  EXPECT_EQ(adopt(), "tables.missing");
}

TEST_F(PluginTablesTest, AnEventTableMustBeWholeIfGiven) {
  event_.query = nullptr;
  EXPECT_EQ(adopt(), "tables.slot");
}

}  // namespace
}  // namespace backplane
