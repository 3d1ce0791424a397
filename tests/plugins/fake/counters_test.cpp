#include "plugin_test_base.hpp"

namespace fake_test {
namespace {

TEST_F(FakePlugin, CountsWhatItDoes) {
  open({});
  bp_buffer *a = filled(counting(1)), *b = plugin_->buffer(kBytes);
  bp_stream* stream = plugin_->stream();
  bp_event* event = plugin_->event();
  ASSERT_EQ(submit(stream, BP_OP_NEG, {a}, b), BP_OK);
  ASSERT_EQ(submit(stream, BP_OP_ABS, {b}, b), BP_OK);
  ASSERT_EQ(copy(stream, b, a), BP_OK);
  contents(a);
  const bp_fake_counters found = counters();
  EXPECT_EQ(found.calls[BP_FAKE_SUBMIT], 2u);
  EXPECT_EQ(found.calls[BP_FAKE_COPY], 1u);
  EXPECT_EQ(found.calls[BP_FAKE_ALLOCATE], 2u);
  EXPECT_EQ(found.calls[BP_FAKE_WRITE], 1u);
  EXPECT_EQ(found.calls[BP_FAKE_READ], 1u);
  EXPECT_EQ(found.nodes, 2u);
  EXPECT_EQ(found.copied_bytes, kBytes);
  EXPECT_EQ(found.written_bytes, kBytes);
  EXPECT_EQ(found.read_bytes, kBytes);
  EXPECT_EQ(found.live_buffers, 2u);
  EXPECT_EQ(found.live_bytes, 2 * kBytes);
  EXPECT_EQ(found.live_streams, 1u);
  EXPECT_EQ(found.live_events, 1u);
  tables().stream_i->destroy(stream);
  tables().event_i->destroy(event);
  destroy({a, b});
}

TEST_F(FakePlugin, CountsQuestionsAndLetsGoOfAll) {
  open({});
  EXPECT_EQ(verdict(BP_OP_ADD, 0, 3), BP_VERDICT_YES);
  EXPECT_EQ(counters().queried_nodes, 1u);
  destroy({plugin_->buffer(kBytes)});
  extension().reset(plugin_->device());
  const bp_fake_counters found = counters();
  EXPECT_EQ(found.calls[BP_FAKE_ANY], 0u);
  EXPECT_EQ(found.queried_nodes, 0u);
  EXPECT_EQ(found.live_buffers, 0u);
  EXPECT_EQ(found.live_bytes, 0u);
}

TEST_F(FakePlugin, HasNoOtherExtension) {
  open({});
  EXPECT_EQ(tables().device_i->get_extension(plugin_->device(), "bp.x.other", 1), nullptr);
  EXPECT_EQ(tables().device_i->get_extension(plugin_->device(), BP_EXT_FAKE, 2), nullptr);
}

}  // namespace
}  // namespace fake_test
