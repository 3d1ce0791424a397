#include "backplane/sdk/tables.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace backplane::sdk {
namespace {

int32_t probe_score() { return 3; }
int32_t probe_nothing() { throw Error(BP_E_NO_HARDWARE, "no such card"); }

std::unique_ptr<Plugin> open_nothing(const bp_open_info&, Host) { throw Error(BP_E_NO_HARDWARE, "no such card"); }

constexpr PluginInfo kPlain{"org.test.plain", "1.2.3", &open_nothing, nullptr};
constexpr PluginInfo kProbed{"org.test.probed", "1.0.0", &open_nothing, &probe_score};
constexpr PluginInfo kAbsent{"org.test.absent", "1.0.0", &open_nothing, &probe_nothing};

struct Handshake {
  bp_hello hello{sizeof(bp_hello), BP_KIND_HELLO, BP_VERSION(1, 0), BP_VERSION(1, 0), 1, 1, 0, 0, "test"};
  bp_hello_reply reply{sizeof(bp_hello_reply), BP_KIND_HELLO_REPLY, 0, 0, 0, 0, nullptr, nullptr};
  char text[256] = {};
  bp_error error{sizeof(bp_error), 0, 0, 0, sizeof text, 0, 0, text};

  bp_code run() {
    const auto negotiate = reinterpret_cast<bp_negotiate_fn>(get_proc_address<kPlain>("bp_negotiate"));
    return negotiate(&hello, &reply, &error);
  }
};

TEST(GetProcAddress, KnowsItsNamesAndNoOthers) {
  EXPECT_NE(get_proc_address<kPlain>("bp_negotiate"), nullptr);
  EXPECT_NE(get_proc_address<kPlain>("bp_open.v1"), nullptr);
  EXPECT_EQ(get_proc_address<kPlain>("bp_probe"), nullptr) << "this plugin has no probe";
  EXPECT_NE(get_proc_address<kProbed>("bp_probe"), nullptr);
  for (const char* name : {"", "bp_open", "bp_open.v2", "BP_NEGOTIATE", "bp_negotiate "})
    EXPECT_EQ(get_proc_address<kPlain>(name), nullptr) << name;
  EXPECT_EQ(get_proc_address<kPlain>(nullptr), nullptr);
}

TEST(Probe, ReturnsTheScoreOrTheReason) {
  int32_t score = 0;
  EXPECT_EQ(reinterpret_cast<bp_probe_fn>(get_proc_address<kProbed>("bp_probe"))(&score, nullptr), BP_OK);
  EXPECT_EQ(score, 3);
  const auto absent = reinterpret_cast<bp_probe_fn>(get_proc_address<kAbsent>("bp_probe"));
  EXPECT_EQ(absent(&score, nullptr), BP_E_NO_HARDWARE);
  EXPECT_EQ(absent(nullptr, nullptr), BP_E_INVALID_ARG);
}

TEST(Negotiate, AgreesOnTheHighestThatBothSpeak) {
  Handshake shake;
  shake.hello.abi_max = BP_VERSION(1, 9);
  shake.hello.opset_max = 4;
  ASSERT_EQ(shake.run(), BP_OK) << shake.text;
  EXPECT_EQ(shake.reply.abi, BP_ABI_VERSION);
  EXPECT_EQ(shake.reply.opset, BP_OPSET_VERSION);
  EXPECT_EQ(shake.reply.abi_built, BP_ABI_VERSION);
  EXPECT_STREQ(shake.reply.id, "org.test.plain");
  EXPECT_STREQ(shake.reply.version, "1.2.3");
}

struct Ranges {
  uint32_t abi_min, abi_max, opset_min, opset_max;
  const char* host_range;
};

TEST(Negotiate, RefusesRangesThatDoNotMeetNamingBoth) {
  const Ranges cases[] = {{BP_VERSION(1, 1), BP_VERSION(1, 4), 1, 1, "ABI 1.1 to 1.4 and op sets 1 to 1"},
                          {BP_VERSION(2, 0), BP_VERSION(2, 3), 1, 1, "ABI 2.0 to 2.3"},
                          {BP_VERSION(0, 1), BP_VERSION(0, 9), 1, 1, "ABI 0.1 to 0.9"},
                          {BP_VERSION(1, 0), BP_VERSION(1, 0), 2, 3, "op sets 2 to 3"},
                          {BP_VERSION(1, 0), BP_VERSION(1, 0), 0, 0, "op sets 0 to 0"},
                          {BP_VERSION(1, 5), BP_VERSION(1, 0), 1, 1, "ABI 1.5 to 1.0"},
                          {BP_VERSION(1, 0), BP_VERSION(1, 0), 3, 1, "op sets 3 to 1"}};
  for (const Ranges& ranges : cases) {
    Handshake shake;
    shake.hello.abi_min = ranges.abi_min;
    shake.hello.abi_max = ranges.abi_max;
    shake.hello.opset_min = ranges.opset_min;
    shake.hello.opset_max = ranges.opset_max;
    EXPECT_EQ(shake.run(), BP_E_INCOMPATIBLE);
    const std::string text = shake.text;
    EXPECT_NE(text.find(ranges.host_range), std::string::npos) << text;
    EXPECT_NE(text.find("plugin speaks ABI 1.0 to 1.0 and op sets 1 to 1"), std::string::npos) << text;
    EXPECT_EQ(shake.reply.id, nullptr) << "the reply was touched";
    EXPECT_EQ(shake.reply.abi, 0u);
  }
}

TEST(Negotiate, RefusesStructsThatItCannotRead) {
  const auto refused = [](const std::function<void(Handshake&)>& spoil) {
    Handshake shake;
    spoil(shake);
    return shake.run() == BP_E_INVALID_ARG && shake.reply.id == nullptr;
  };
  EXPECT_TRUE(refused([](Handshake& s) { s.hello.kind = BP_KIND_OPENED; }));
  EXPECT_TRUE(refused([](Handshake& s) { s.hello.size = sizeof(bp_hello) - 1; }));
  EXPECT_TRUE(refused([](Handshake& s) { s.reply.kind = BP_KIND_HELLO; }));
  EXPECT_TRUE(refused([](Handshake& s) { s.reply.size = 8; }));
  const auto negotiate = reinterpret_cast<bp_negotiate_fn>(get_proc_address<kPlain>("bp_negotiate"));
  EXPECT_EQ(negotiate(nullptr, nullptr, nullptr), BP_E_INVALID_ARG);
}

TEST(Open, CarriesTheReasonOfARefusalAndLeavesOpenedAlone) {
  const auto open = reinterpret_cast<bp_open_fn>(get_proc_address<kPlain>("bp_open.v1"));
  const bp_host_i host{
      {sizeof(bp_host_i), BP_KIND_TABLE_HOST}, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
  bp_open_info info{};
  info.head = {sizeof info, BP_KIND_OPEN_INFO, nullptr};
  info.host_i = &host;
  bp_opened opened{};
  opened.head = {sizeof opened, BP_KIND_OPENED, nullptr};
  Handshake text;
  EXPECT_EQ(open(&info, &opened, &text.error), BP_E_NO_HARDWARE);
  EXPECT_STREQ(text.text, "no such card");
  EXPECT_EQ(opened.plugin_i, nullptr);
  bp_host_i short_host = host;
  short_host.head.size = sizeof(bp_host_i) - 8;
  info.host_i = &short_host;
  EXPECT_EQ(open(&info, &opened, nullptr), BP_E_INCOMPATIBLE);
}

// A device that answers YES to node 0 and throws for the others.
class HalfDevice final : public Device {
 public:
  bp_device_info info() override { return {}; }
  bp_memtype_info memtype(uint32_t) override { return {}; }
  bp_memory_stats memory() override { return {}; }
  bp_node_answer query(const bp_graph&, uint32_t node, std::string& reason) override {
    if (node == 2) throw Error(BP_E_INTERNAL, "spoilt");
    reason = node == 0 ? "" : "not this one";
    return {node == 0 ? BP_VERDICT_YES : BP_VERDICT_NO, BP_NONE, 0};
  }
  std::unique_ptr<Buffer> create_buffer(const bp_buffer_desc&) override { unsupported("buffer_create"); }
  std::unique_ptr<Stream> create_stream(const bp_stream_desc&) override { unsupported("stream_create"); }
};

class QueryNodes : public testing::Test {
 protected:
  QueryNodes() {
    for (bp_node& node : nodes_) node.op = BP_OP_COPY;
    graph_.head = {sizeof graph_, BP_KIND_GRAPH, nullptr};
    graph_.tensor_stride = sizeof(bp_tensor);
    graph_.node_stride = sizeof(bp_node);
    graph_.nodes = nodes_;
    graph_.node_count = 3;
    query_.head = {sizeof query_, BP_KIND_NODE_QUERY, nullptr};
    query_.graph = &graph_;
    query_.node_count = 2;
    query_.answer_stride = sizeof(bp_node_answer);
    query_.answers = answers_;
    query_.text = text_;
    query_.text_cap = sizeof text_;
  }
  bp_code ask() {
    return detail::kDeviceTable.query_nodes(to_handle<bp_device>(static_cast<Device*>(&device_)), &query_, nullptr);
  }

  HalfDevice device_;
  bp_node nodes_[3]{};
  bp_graph graph_{};
  bp_node_query query_{};
  bp_node_answer answers_[3]{};
  char text_[64] = {};
};

TEST_F(QueryNodes, AnswersWithReasons) {
  ASSERT_EQ(ask(), BP_OK);
  EXPECT_EQ(answers_[0].verdict, BP_VERDICT_YES);
  EXPECT_EQ(answers_[0].reason_at, BP_NONE);
  EXPECT_EQ(answers_[1].verdict, BP_VERDICT_NO);
  ASSERT_NE(answers_[1].reason_at, BP_NONE);
  EXPECT_STREQ(text_ + answers_[1].reason_at, "not this one");
  EXPECT_EQ(query_.text_len, sizeof "not this one");
}

TEST_F(QueryNodes, LeavesOutReasonsThatDoNotFit) {
  query_.text_cap = sizeof "not this one" - 1;
  ASSERT_EQ(ask(), BP_OK);
  EXPECT_EQ(answers_[1].reason_at, BP_NONE);
  EXPECT_EQ(query_.text_len, 0u);
}

TEST_F(QueryNodes, SaysNoEverywhereWhenItFails) {
  query_.node_count = 3;
  EXPECT_EQ(ask(), BP_E_INTERNAL);
  for (const bp_node_answer& answer : answers_) EXPECT_EQ(answer.verdict, BP_VERDICT_NO);
  query_.node_count = 2;
  const uint32_t nodes[] = {0, 7};
  query_.nodes = nodes;
  EXPECT_EQ(ask(), BP_E_INVALID_ARG) << "node 7 is missing";
  EXPECT_EQ(answers_[0].verdict, BP_VERDICT_NO);
}

}  // namespace
}  // namespace backplane::sdk
