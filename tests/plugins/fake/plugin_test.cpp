// The fake plugin through its C ABI: what its options promise, each seen from outside.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "plugin_test_base.hpp"

namespace fake_test {
namespace {

TEST_F(FakePlugin, RefusesUnknownAndSenselessOptions) {
  for (const OptionList& options : std::vector<OptionList>{{{"divices", int64_t{2}}},
                                                           {{"devices", std::string("two")}},
                                                           {{"memory", std::string("shared")}},
                                                           {{"alignment", int64_t{48}}}}) {
    open(options);
    EXPECT_EQ(plugin_->open_code, BP_E_INVALID_ARG);
    EXPECT_NE(plugin_->open_error.text().find(options[0].first), std::string::npos) << plugin_->open_error.text();
  }
}

TEST_F(FakePlugin, ShowsTheDevicesThatTheOptionsAskFor) {
  open({{"devices", int64_t{3}}, {"type", std::string("gpu")}, {"memory_limit_bytes", int64_t{4096}}, {"async", true}});
  ASSERT_EQ(tables().plugin_i->device_count(tables().plugin), 3u);
  EXPECT_EQ(plugin_->device(3), nullptr);
  auto info = head_of<bp_device_info>(BP_KIND_DEVICE_INFO);
  ASSERT_EQ(tables().device_i->get_info(plugin_->device(2), &info, nullptr), BP_OK);
  EXPECT_STREQ(info.name, "fake2");
  EXPECT_EQ(info.type, BP_DEVICE_GPU);
  EXPECT_EQ(info.memory_total, 4096u);
  EXPECT_NE(info.caps & BP_CAP_ASYNC, 0u);
  EXPECT_EQ(info.caps & BP_CAP_IMPORT_HOST, 0u);
}

TEST_F(FakePlugin, PoisonsUnwrittenMemory) {
  open({});
  bp_buffer* buffer = plugin_->buffer(kBytes);
  for (const int32_t value : contents(buffer)) ASSERT_EQ(static_cast<uint32_t>(value), 0xA5A5A5A5u);
  destroy({buffer});
}

TEST_F(FakePlugin, HidesOwnMemoryAndMapsHostMemory) {
  open({});
  bp_buffer* buffer = plugin_->buffer(kBytes);
  void* address = nullptr;
  EXPECT_EQ(tables().buffer_i->map(buffer, 0, 4, BP_MAP_READ, &address, nullptr), BP_E_UNSUPPORTED);
  destroy({buffer});
  open({{"memory", std::string("host")}});
  buffer = filled(counting(5));
  ASSERT_EQ(tables().buffer_i->map(buffer, 8, 4, BP_MAP_READ, &address, nullptr), BP_OK);
  EXPECT_EQ(*static_cast<int32_t*>(address), 7);
  destroy({buffer});
}

TEST_F(FakePlugin, ImportsHostMemoryAndReleasesItOnce) {
  open({{"memory", std::string("host")}});
  alignas(64) int32_t values[16] = {1, 2, 3};
  int releases = 0;
  auto desc = head_of<bp_buffer_desc>(BP_KIND_BUFFER_DESC);
  desc.bytes = sizeof values;
  desc.host_ptr = values;
  desc.host_ptr_use = BP_HOST_PTR_BORROW_READ;
  desc.release = [](void* user, void*) { ++*static_cast<int*>(user); };
  desc.release_user = &releases;
  bp_buffer* buffer = nullptr;
  ASSERT_EQ(tables().device_i->buffer_create(plugin_->device(), &desc, &buffer, nullptr), BP_OK);
  EXPECT_EQ(tables().buffer_i->fill(buffer, 0, 4, 0, nullptr), BP_E_INVALID_ARG) << "borrowed for reading";
  EXPECT_EQ(releases, 0);
  destroy({buffer});
  EXPECT_EQ(releases, 1);
  desc.host_ptr = values + 1;
  EXPECT_EQ(tables().device_i->buffer_create(plugin_->device(), &desc, &buffer, nullptr), BP_E_INVALID_ARG);
  EXPECT_EQ(releases, 1) << "a failed import releases nothing";
}

TEST_F(FakePlugin, KeepsItsMemoryLimits) {
  open({{"memory_limit_bytes", int64_t{10000}}, {"max_buffer_bytes", int64_t{4096}}});
  bp_buffer *first = plugin_->buffer(4096), *second = plugin_->buffer(4096), *third = nullptr;
  auto desc = head_of<bp_buffer_desc>(BP_KIND_BUFFER_DESC);
  desc.bytes = 4096;
  EXPECT_EQ(tables().device_i->buffer_create(plugin_->device(), &desc, &third, nullptr), BP_E_DEVICE_MEMORY);
  EXPECT_EQ(third, nullptr);
  desc.bytes = 4097;
  EXPECT_EQ(tables().device_i->buffer_create(plugin_->device(), &desc, &third, nullptr), BP_E_INVALID_ARG);
  destroy({first});
  first = plugin_->buffer(4096);
  auto stats = head_of<bp_memory_stats>(BP_KIND_MEMORY_STATS);
  ASSERT_EQ(tables().device_i->get_memory(plugin_->device(), &stats, nullptr), BP_OK);
  EXPECT_EQ(stats.free, 10000u - 8192u);
  EXPECT_EQ(stats.peak, 8192u);
  destroy({first, second});
}

TEST_F(FakePlugin, AnswersAsItsMasksSay) {
  open({{"supports", std::string("add,mul")}, {"deny", std::string("mul")}});
  EXPECT_EQ(verdict(BP_OP_ADD), BP_VERDICT_YES);
  EXPECT_EQ(verdict(BP_OP_MUL), BP_VERDICT_NO);
  EXPECT_EQ(verdict(BP_OP_SUB), BP_VERDICT_NO);
  open({{"devices", int64_t{2}}, {"supports", std::string("alternate")}});
  EXPECT_EQ(verdict(BP_OP_ADD, 0, 0), BP_VERDICT_YES);
  EXPECT_EQ(verdict(BP_OP_ADD, 0, 1), BP_VERDICT_NO);
  EXPECT_EQ(verdict(BP_OP_ADD, 1, 1), BP_VERDICT_YES);
}

TEST_F(FakePlugin, FailsTheCallThatTheOptionsNameAndNoOther) {
  open({{"fail_at_call", int64_t{2}}, {"fail_code", int64_t{BP_E_DATA}}});
  bp_buffer *a = filled(counting(1)), *b = plugin_->buffer(kBytes);
  bp_stream* stream = plugin_->stream();
  EXPECT_EQ(submit(stream, BP_OP_NEG, {a}, b), BP_OK);
  EXPECT_EQ(submit(stream, BP_OP_NEG, {a}, b), BP_E_DATA);
  EXPECT_EQ(submit(stream, BP_OP_NEG, {a}, b), BP_OK);
  EXPECT_EQ(synchronize(stream), BP_OK);
  tables().stream_i->destroy(stream);
  destroy({a, b});
}

TEST_F(FakePlugin, StaysLostOnceLost) {
  open({{"devices", int64_t{2}}, {"lose_at_call", int64_t{1}}, {"fault_device", int64_t{0}}, {"async", true}});
  bp_buffer *a = filled(counting(1)), *b = plugin_->buffer(kBytes);
  bp_buffer *c = filled(counting(1), 1), *d = plugin_->buffer(kBytes, 1);
  bp_stream *lost = plugin_->stream(0), *well = plugin_->stream(1);
  EXPECT_EQ(submit(lost, BP_OP_NEG, {a}, b), BP_OK) << "an asynchronous fault comes later";
  EXPECT_EQ(submit(well, BP_OP_NEG, {c}, d), BP_OK);
  EXPECT_EQ(synchronize(lost), BP_E_DEVICE_LOST);
  EXPECT_EQ(synchronize(lost), BP_E_DEVICE_LOST) << "sticky";
  EXPECT_EQ(submit(lost, BP_OP_NEG, {a}, b), BP_E_DEVICE_LOST);
  EXPECT_EQ(synchronize(well), BP_OK);
  EXPECT_EQ(plugin_->host.device_events, 1);
  for (bp_stream* stream : {lost, well}) tables().stream_i->destroy(stream);
  destroy({a, b, c, d});
}

TEST_F(FakePlugin, RefusesTensorsThatLeaveTheirBufferOrTheirDevice) {
  open({{"devices", int64_t{2}}});
  bp_buffer *a = filled(counting(1)), *small = plugin_->buffer(kBytes - 4), *far = plugin_->buffer(kBytes, 1);
  bp_stream* stream = plugin_->stream();
  EXPECT_EQ(submit(stream, BP_OP_NEG, {a}, small), BP_E_INVALID_ARG);
  EXPECT_EQ(submit(stream, BP_OP_NEG, {far}, a), BP_E_INVALID_ARG);
  EXPECT_EQ(submit(stream, BP_OP_NEG, {nullptr}, a), BP_E_INVALID_ARG);
  tables().stream_i->destroy(stream);
  destroy({a, small, far});
}

TEST_F(FakePlugin, MixSeesOrderAndEveryElement) {
  open({});
  const uint32_t mix = plugin_->host.table.intern(plugin_->host.handle(), "fake.mix", BP_NAMESPACE_OP);
  std::vector<int32_t> changed = counting(1);
  changed[777] ^= 1;
  bp_buffer *a = filled(counting(1)), *b = filled(counting(9)), *c = filled(changed), *out = plugin_->buffer(kBytes);
  bp_stream* stream = plugin_->stream();
  const auto mixed = [&](bp_buffer* x, bp_buffer* y) {
    EXPECT_EQ(submit(stream, mix, {x, y}, out), BP_OK);
    return contents(out);
  };
  const std::vector<int32_t> straight = mixed(a, b), swapped = mixed(b, a), touched = mixed(c, b);
  for (uint32_t i = 0; i < kElements; ++i) {
    EXPECT_NE(straight[i], swapped[i]);
    EXPECT_EQ(straight[i] == touched[i], i != 777);
  }
  tables().stream_i->destroy(stream);
  destroy({a, b, c, out});
}

class FakeAsync : public FakePlugin {
 protected:
  FakeAsync() {
    open({{"devices", int64_t{2}},
          {"async", true},
          {"seed", int64_t{3}},
          {"max_delay_us", int64_t{300}},
          {"fail_at_call", int64_t{50}},
          {"fault_device", int64_t{1}}});
  }
};

TEST_F(FakeAsync, RunsAStreamInOrder) {
  bp_buffer *a = filled(counting(1)), *one = filled(std::vector<int32_t>(kElements, 1));
  bp_stream* stream = plugin_->stream();
  std::vector<int32_t> expected = counting(1);
  for (int i = 0; i < 20; ++i) {  // a = -(a + 1): the order shows in the result
    ASSERT_EQ(submit(stream, BP_OP_ADD, {a, one}, a), BP_OK);
    ASSERT_EQ(submit(stream, i % 3 == 0 ? BP_OP_NEG : BP_OP_ABS, {a}, a), BP_OK);
    for (int32_t& value : expected) value = i % 3 == 0 ? -(value + 1) : std::abs(value + 1);
  }
  EXPECT_EQ(synchronize(stream), BP_OK);
  EXPECT_EQ(contents(a), expected);
  tables().stream_i->destroy(stream);
  destroy({a, one});
}

TEST_F(FakeAsync, OrdersTwoStreamsByAnEvent) {
  bp_buffer *a = filled(counting(1)), *b = plugin_->buffer(kBytes, 1), *c = plugin_->buffer(kBytes, 1);
  bp_stream *first = plugin_->stream(0), *second = plugin_->stream(1);
  bp_event* event = plugin_->event();
  EXPECT_EQ(tables().event_i->query(event, nullptr), BP_E_STATE);
  EXPECT_EQ(tables().stream_i->wait(second, event, nullptr), BP_E_STATE);
  for (int round = 0; round < 10; ++round) {
    ASSERT_EQ(submit(first, BP_OP_NEG, {a}, a), BP_OK);
    ASSERT_EQ(copy(first, a, b), BP_OK);
    ASSERT_EQ(tables().stream_i->record(first, event, nullptr), BP_OK);
    ASSERT_EQ(tables().stream_i->wait(second, event, nullptr), BP_OK);
    ASSERT_EQ(submit(second, BP_OP_ADD, {b, b}, c), BP_OK);
    ASSERT_EQ(tables().event_i->wait_host(event, kSoon, nullptr), BP_OK);
    ASSERT_EQ(synchronize(second), BP_OK);
    EXPECT_EQ(contents(c)[10], (round % 2 == 0 ? -22 : 22));
  }
  for (bp_stream* stream : {first, second}) tables().stream_i->destroy(stream);
  tables().event_i->destroy(event);
  destroy({a, b, c});
}

struct Completion {
  std::mutex mutex;
  std::condition_variable changed;
  int calls = 0;
  bp_code code = BP_OK;
};

void BP_CALL on_complete(void* user, const bp_error* status) {
  auto& completion = *static_cast<Completion*>(user);
  const std::lock_guard lock(completion.mutex);
  ++completion.calls;
  completion.code = status->code;
  completion.changed.notify_all();
}

TEST_F(FakeAsync, CarriesAFailureToEventsAndReportsItOnce) {
  bp_buffer *a = filled(counting(1), 1), *b = plugin_->buffer(kBytes, 1);
  bp_stream* stream = plugin_->stream(1);
  bp_event* event = plugin_->event();
  for (int call = 1; call <= 52; ++call) ASSERT_EQ(submit(stream, BP_OP_NEG, {a}, call > 50 ? b : a), BP_OK);
  ASSERT_EQ(tables().stream_i->record(stream, event, nullptr), BP_OK);
  Completion completion;
  ASSERT_EQ(tables().event_i->subscribe(event, on_complete, &completion, nullptr), BP_OK);
  tables().event_i->destroy(event);  // the subscription outlives it
  {
    std::unique_lock lock(completion.mutex);
    completion.changed.wait(lock, [&] { return completion.calls != 0; });
    EXPECT_EQ(completion.code, BP_E_INTERNAL);
  }
  ErrorText error;
  EXPECT_EQ(synchronize(stream, error), BP_E_INTERNAL);
  EXPECT_NE(error.text().find("fault was planned"), std::string::npos);
  EXPECT_EQ(synchronize(stream), BP_OK);
  EXPECT_EQ(static_cast<uint32_t>(contents(b)[0]), 0xA5A5A5A5u) << "work behind the failure was skipped";
  EXPECT_EQ(completion.calls, 1);
  tables().stream_i->destroy(stream);
  destroy({a, b});
}

TEST_F(FakeAsync, StopsACancelledRun) {
  bp_buffer* a = filled(counting(1));
  bp_stream* stream = plugin_->stream();
  ASSERT_EQ(tables().stream_i->cancel(stream, 42, nullptr), BP_OK);
  ASSERT_EQ(submit(stream, BP_OP_NEG, {a}, a, nullptr, 42), BP_OK);
  EXPECT_EQ(synchronize(stream), BP_E_CANCELLED);
  ASSERT_EQ(submit(stream, BP_OP_NEG, {a}, a, nullptr, 43), BP_OK);
  EXPECT_EQ(synchronize(stream), BP_OK);
  EXPECT_EQ(contents(a)[0], -1);
  tables().stream_i->destroy(stream);
  destroy({a});
}

TEST_F(FakeAsync, RunsAProgramWithBindings) {
  GraphBuilder graph(kElements);
  const uint32_t in = graph.tensor(), out = graph.tensor();
  graph.node(BP_OP_SUB, {in, in}, out);
  auto desc = head_of<bp_program_desc>(BP_KIND_PROGRAM_DESC);
  desc.graph = &graph.finish();
  bp_program* program = nullptr;
  ASSERT_EQ(tables().device_i->program_create(plugin_->device(), &desc, &program, nullptr), BP_OK);
  bp_buffer *a = filled(counting(1)), *b = plugin_->buffer(kBytes);
  const bp_binding bindings[] = {{in, 0, a, 0}, {out, 0, b, 0}};
  auto work = head_of<bp_submit_desc>(BP_KIND_SUBMIT_DESC);
  work.program = program;
  work.bindings = bindings;
  work.binding_count = 2;
  bp_stream* stream = plugin_->stream();
  ASSERT_EQ(tables().stream_i->submit(stream, &work, nullptr), BP_OK);
  EXPECT_EQ(synchronize(stream), BP_OK);
  EXPECT_EQ(contents(b), std::vector<int32_t>(kElements, 0));
  work.binding_count = 1;
  EXPECT_EQ(tables().stream_i->submit(stream, &work, nullptr), BP_E_INVALID_ARG) << "an unbound tensor";
  tables().stream_i->destroy(stream);
  tables().program_i->destroy(program);
  destroy({a, b});
}

}  // namespace
}  // namespace fake_test
