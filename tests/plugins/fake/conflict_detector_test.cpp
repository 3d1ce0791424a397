#include <atomic>
#include <thread>

#include "plugin_test_base.hpp"

namespace fake_test {
namespace {

class FakeConflicts : public FakePlugin {
 protected:
  // Two asynchronous devices in host memory that are slow enough to meet.
  FakeConflicts() {
    open({{"devices", int64_t{2}},
          {"memory", std::string("host")},
          {"async", true},
          {"max_delay_us", int64_t{2000}},
          {"detect_conflicts", true}});
    for (uint32_t device = 0; device < 2; ++device) {
      streams_.push_back(plugin_->stream(device));
      shared_.push_back(import(device));
    }
  }
  ~FakeConflicts() override {
    for (bp_stream* stream : streams_) tables().stream_i->destroy(stream);
    for (bp_buffer* buffer : shared_) tables().buffer_i->destroy(buffer);
  }
  bp_buffer* import(uint32_t device) {
    auto desc = head_of<bp_buffer_desc>(BP_KIND_BUFFER_DESC);
    desc.bytes = kBytes;
    desc.host_ptr = memory_;
    desc.host_ptr_use = BP_HOST_PTR_BORROW_WRITE;
    bp_buffer* buffer = nullptr;
    EXPECT_EQ(tables().device_i->buffer_create(plugin_->device(device), &desc, &buffer, nullptr), BP_OK);
    return buffer;
  }
  std::string first_conflict() {
    char text[512] = {};
    extension().conflicts(plugin_->device(), text, sizeof text);
    return text;
  }
  uint64_t conflicts() { return extension().conflicts(plugin_->device(), nullptr, 0); }
  void drain() {
    for (bp_stream* stream : streams_) EXPECT_EQ(synchronize(stream), BP_OK);
  }

  alignas(64) int32_t memory_[kElements] = {};
  std::vector<bp_stream*> streams_;
  std::vector<bp_buffer*> shared_;  // one memory, by device
};

TEST_F(FakeConflicts, SeesAWriteDuringAReadOfAnotherDevice) {
  bp_buffer *mine = plugin_->buffer(kBytes, 0), *theirs = plugin_->buffer(kBytes, 1);
  for (int round = 0; round < 100 && conflicts() == 0; ++round) {
    ASSERT_EQ(submit(streams_[0], BP_OP_NEG, {shared_[0]}, mine), BP_OK);
    ASSERT_EQ(submit(streams_[1], BP_OP_NEG, {theirs}, shared_[1]), BP_OK);
    drain();
  }
  EXPECT_NE(conflicts(), 0u);
  EXPECT_NE(first_conflict().find("node 0 (neg) reads 4096 bytes"), std::string::npos) << first_conflict();
  EXPECT_NE(first_conflict().find("fake1"), std::string::npos) << first_conflict();
  destroy({mine, theirs});
}

TEST_F(FakeConflicts, LetsReadersAndOrderedWorkPass) {
  bp_buffer *mine = plugin_->buffer(kBytes, 0), *theirs = plugin_->buffer(kBytes, 1);
  bp_event* event = plugin_->event();
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(submit(streams_[0], BP_OP_NEG, {shared_[0]}, mine), BP_OK);
    ASSERT_EQ(submit(streams_[1], BP_OP_NEG, {shared_[1]}, theirs), BP_OK);
    ASSERT_EQ(tables().stream_i->record(streams_[0], event, nullptr), BP_OK);
    ASSERT_EQ(tables().stream_i->wait(streams_[1], event, nullptr), BP_OK);
    ASSERT_EQ(submit(streams_[1], BP_OP_NEG, {theirs}, shared_[1]), BP_OK);
    drain();
  }
  EXPECT_EQ(conflicts(), 0u) << first_conflict();
  tables().event_i->destroy(event);
  destroy({mine, theirs});
}

TEST_F(FakeConflicts, SeesTheHostAndTheFreeingOfMemoryInUse) {
  for (int round = 0; round < 200 && conflicts() == 0; ++round) {
    bp_buffer* mine = plugin_->buffer(kBytes, 0);
    ASSERT_EQ(submit(streams_[0], BP_OP_NEG, {shared_[0]}, mine), BP_OK);
    ASSERT_EQ(tables().buffer_i->write(shared_[0], 0, memory_ + 1, 4, nullptr), BP_OK);
    drain();
    destroy({mine});
  }
  EXPECT_NE(first_conflict().find("a write by the host writes 4 bytes"), std::string::npos) << first_conflict();
}

}  // namespace
}  // namespace fake_test
