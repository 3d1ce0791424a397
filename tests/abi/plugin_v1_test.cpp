// The frozen plugin of ABI 1.0, driven through its tables as compiled then.
#include <gtest/gtest.h>

#include "plugin_fixture.hpp"

namespace fake_test {
namespace {

TEST(PluginV1, OpensAndShowsItsDevice) {
  PluginFixture plugin(PLUGIN_V1_PATH, {});
  ASSERT_EQ(plugin.open_code, BP_OK) << plugin.open_error.text();
  ASSERT_EQ(plugin.opened.plugin_i->device_count(plugin.opened.plugin), 1u);
  auto info = head_of<bp_device_info>(BP_KIND_DEVICE_INFO);
  ASSERT_EQ(plugin.opened.device_i->get_info(plugin.device(), &info, nullptr), BP_OK);
  EXPECT_STREQ(info.name, "v1");
  EXPECT_EQ(info.memtype_count, 1u);
  EXPECT_FALSE(BP_HAS_FN(plugin.opened.device_i, bp_device_i, event_create));
  EXPECT_EQ(plugin.opened.event_i, nullptr);
}

TEST(PluginV1, RefusesOptionsWithAText) {
  PluginFixture plugin(PLUGIN_V1_PATH, {{"threads", int64_t{1}}});
  EXPECT_EQ(plugin.open_code, BP_E_INVALID_ARG);
  EXPECT_NE(plugin.open_error.text().find("no options"), std::string::npos);
}

TEST(PluginV1, NegatesATensor) {
  PluginFixture plugin(PLUGIN_V1_PATH, {});
  bp_buffer *in = plugin.buffer(16), *out = plugin.buffer(16);
  const float values[4] = {1, -2, 0.5f, 3};
  ASSERT_EQ(plugin.opened.buffer_i->write(in, 0, values, 16, nullptr), BP_OK);
  GraphBuilder graph(4, BP_TYPE_F32);
  const uint32_t x = graph.tensor(in);
  graph.node(BP_OP_NEG, {x}, graph.tensor(out));
  auto work = head_of<bp_submit_desc>(BP_KIND_SUBMIT_DESC);
  work.graph = &graph.finish();
  bp_stream* stream = plugin.stream();
  ASSERT_EQ(plugin.opened.stream_i->submit(stream, &work, nullptr), BP_OK);
  ASSERT_EQ(plugin.opened.stream_i->synchronize(stream, BP_TIMEOUT_INFINITE, nullptr), BP_OK);
  float result[4] = {};
  ASSERT_EQ(plugin.opened.buffer_i->read(out, 0, result, 16, nullptr), BP_OK);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(result[i], -values[i]);
  plugin.opened.stream_i->destroy(stream);
  plugin.opened.buffer_i->destroy(in);
  plugin.opened.buffer_i->destroy(out);
}

// A host of a later ABI has larger structs: the old plugin leaves the rest alone.
TEST(PluginV1, WritesOnlyTheFieldsItKnows) {
  PluginFixture plugin(PLUGIN_V1_PATH, {});
  struct {
    bp_device_info known;
    uint64_t added;
  } later{};
  later.known.head = {sizeof later, BP_KIND_DEVICE_INFO, nullptr};
  later.added = 0x1234;
  ASSERT_EQ(plugin.opened.device_i->get_info(plugin.device(), &later.known, nullptr), BP_OK);
  EXPECT_STREQ(later.known.name, "v1");
  EXPECT_EQ(later.added, 0x1234u);
  EXPECT_EQ(later.known.head.size, sizeof later);
}

TEST(PluginV1, NegotiatesWithALaterHost) {
  PluginFixture plugin(PLUGIN_V1_PATH, {});
  const auto negotiate = reinterpret_cast<bp_negotiate_fn>(plugin.proc("bp_negotiate"));
  bp_hello hello{sizeof hello, BP_KIND_HELLO, BP_VERSION(1, 0), BP_VERSION(1, 7), 1, 3, 0, 0, "later host"};
  bp_hello_reply reply{};
  reply.size = sizeof reply;
  reply.kind = BP_KIND_HELLO_REPLY;
  ASSERT_EQ(negotiate(&hello, &reply, nullptr), BP_OK);
  EXPECT_EQ(reply.abi, BP_VERSION(1, 0));
  EXPECT_EQ(reply.opset, 1u);
  hello.abi_min = BP_VERSION(1, 1);
  ErrorText error;
  EXPECT_EQ(negotiate(&hello, &reply, error), BP_E_INCOMPATIBLE);
  EXPECT_NE(error.text().find("1.1 to 1.7"), std::string::npos) << error.text();
}

}  // namespace
}  // namespace fake_test
