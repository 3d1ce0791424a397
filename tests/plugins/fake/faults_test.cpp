// Faults of each kind of call, by options and by the extension.
#include "plugin_test_base.hpp"

namespace fake_test {
namespace {

class FakeFaults : public FakePlugin, public testing::WithParamInterface<uint32_t> {
 protected:
  // Makes one call of a kind and returns its code. What it creates is destroyed.
  bp_code call(uint32_t kind);

  bp_buffer* buffer_ = nullptr;
  bp_stream* stream_ = nullptr;
};

bp_code create_buffer(const bp_opened& tables, bp_device* device) {
  auto desc = head_of<bp_buffer_desc>(BP_KIND_BUFFER_DESC);
  desc.bytes = kBytes;
  bp_buffer* buffer = nullptr;
  const bp_code code = tables.device_i->buffer_create(device, &desc, &buffer, nullptr);
  tables.buffer_i->destroy(buffer);
  return code;
}

bp_code create_program(const bp_opened& tables, bp_device* device) {
  GraphBuilder graph(kElements);
  const uint32_t input = graph.tensor();
  graph.node(BP_OP_NEG, {input}, graph.tensor());
  auto desc = head_of<bp_program_desc>(BP_KIND_PROGRAM_DESC);
  desc.graph = &graph.finish();
  bp_program* program = nullptr;
  const bp_code code = tables.device_i->program_create(device, &desc, &program, nullptr);
  tables.program_i->destroy(program);
  return code;
}

bp_code create_stream(const bp_opened& tables, bp_device* device) {
  const auto desc = head_of<bp_stream_desc>(BP_KIND_STREAM_DESC);
  bp_stream* stream = nullptr;
  const bp_code code = tables.device_i->stream_create(device, &desc, &stream, nullptr);
  tables.stream_i->destroy(stream);
  return code;
}

bp_code create_event(const bp_opened& tables, bp_device* device) {
  const auto desc = head_of<bp_event_desc>(BP_KIND_EVENT_DESC);
  bp_event* event = nullptr;
  const bp_code code = tables.device_i->event_create(device, &desc, &event, nullptr);
  tables.event_i->destroy(event);
  return code;
}

bp_code FakeFaults::call(uint32_t kind) {
  int32_t value = 0;
  void* address = nullptr;
  switch (kind) {
    case BP_FAKE_SUBMIT:
      return submit(stream_, BP_OP_NEG, {buffer_}, buffer_);
    case BP_FAKE_COPY:
      return tables().stream_i->fill(stream_, buffer_, 0, 4, 1, nullptr);
    case BP_FAKE_ALLOCATE:
      return create_buffer(tables(), plugin_->device());
    case BP_FAKE_COMPILE:
      return create_program(tables(), plugin_->device());
    case BP_FAKE_STREAM:
      return create_stream(tables(), plugin_->device());
    case BP_FAKE_EVENT:
      return create_event(tables(), plugin_->device());
    case BP_FAKE_READ:
      return tables().buffer_i->read(buffer_, 0, &value, 4, nullptr);
    case BP_FAKE_MAP:
      return tables().buffer_i->map(buffer_, 0, 4, BP_MAP_READ, &address, nullptr);
    case BP_FAKE_SYNCHRONIZE:
      return synchronize(stream_);
    default:
      return tables().buffer_i->write(buffer_, 0, &value, 4, nullptr);
  }
}

TEST_P(FakeFaults, StrikeTheSecondCallAndNoOther) {
  static constexpr const char* kNames[] = {"submit", "copy",  "allocate", "compile", "stream",
                                           "event",  "write", "read",     "map",     "synchronize"};
  open({{"memory", std::string("host")},
        {std::string("fail_") + kNames[GetParam()] + "_at", int64_t{GetParam() == BP_FAKE_ALLOCATE ? 3 : 2}},
        {"fail_code", int64_t{BP_E_DATA}}});
  if (GetParam() != BP_FAKE_STREAM) stream_ = plugin_->stream();
  buffer_ = plugin_->buffer(kBytes);
  EXPECT_EQ(call(GetParam()), BP_OK);
  EXPECT_EQ(call(GetParam()), BP_E_DATA);
  EXPECT_EQ(call(GetParam()), BP_OK);
  extension().set_fault(plugin_->device(), GetParam(), 2, BP_E_BUSY);
  EXPECT_EQ(call(GetParam()), BP_OK);
  EXPECT_EQ(call(GetParam()), BP_E_BUSY);
  extension().set_fault(plugin_->device(), GetParam(), 1, BP_E_DEVICE_LOST);
  EXPECT_EQ(call(GetParam()), BP_E_DEVICE_LOST);
  EXPECT_EQ(call(BP_FAKE_READ), BP_E_DEVICE_LOST) << "a lost device answers nothing";
  EXPECT_EQ(plugin_->host.device_events, 1);
  tables().stream_i->destroy(stream_);
  tables().buffer_i->destroy(buffer_);
}

INSTANTIATE_TEST_SUITE_P(Kinds, FakeFaults, testing::Range(BP_FAKE_SUBMIT, BP_FAKE_ANY));

TEST_F(FakeFaults, OfAnyKindCountAllCalls) {
  open({{"lose_any_at", int64_t{3}}});
  buffer_ = plugin_->buffer(kBytes);
  EXPECT_EQ(call(BP_FAKE_WRITE), BP_OK);
  EXPECT_EQ(call(BP_FAKE_READ), BP_E_DEVICE_LOST);
  tables().buffer_i->destroy(buffer_);
}

TEST_F(FakeFaults, CanBeTakenBack) {
  open({{"fail_any_at", int64_t{2}}});
  buffer_ = plugin_->buffer(kBytes);
  extension().set_fault(plugin_->device(), BP_FAKE_ANY, 0, BP_OK);
  EXPECT_EQ(call(BP_FAKE_WRITE), BP_OK);
  EXPECT_EQ(call(BP_FAKE_WRITE), BP_OK);
  tables().buffer_i->destroy(buffer_);
}

TEST_F(FakeFaults, AHangEndsWhenTheRunIsCancelled) {
  open({{"async", true}, {"hang_at_call", int64_t{1}}});
  buffer_ = filled(counting(1));
  stream_ = plugin_->stream();
  ASSERT_EQ(submit(stream_, BP_OP_NEG, {buffer_}, buffer_, nullptr, 7), BP_OK);
  EXPECT_EQ(tables().stream_i->synchronize(stream_, 20'000'000, nullptr), BP_E_TIMEOUT);
  plugin_->host.cancelled_run = 7;
  EXPECT_EQ(synchronize(stream_), BP_E_CANCELLED);
  EXPECT_EQ(contents(buffer_)[0], 1);
  tables().stream_i->destroy(stream_);
  tables().buffer_i->destroy(buffer_);
}

}  // namespace
}  // namespace fake_test
