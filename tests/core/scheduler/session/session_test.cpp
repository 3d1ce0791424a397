#include "backplane/scheduler/session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "backplane/graph/builder.hpp"
#include "backplane/reference/reference.hpp"
#include "fake_runtime.hpp"
#include "random_graph.hpp"

namespace backplane {
namespace {

using testing::FakeRuntime;
using testing::make_random_graph;
using testing::RandomGraph;

const std::vector<int64_t> kShape = {2, 3};

HostTensor values(std::vector<int32_t> list) { return HostTensor::of<int32_t>(DType::kI32, kShape, list); }

std::vector<int32_t> list_of(const HostTensor& tensor) {
  return {tensor.data<int32_t>(), tensor.data<int32_t>() + tensor.elements()};
}

bool same_bytes(const HostTensor& a, const HostTensor& b) {
  return a.shape() == b.shape() && a.bytes().size() == b.bytes().size() &&
         (a.bytes().empty() || std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0);
}

// Runs on the devices of `options` and compares every output, bit for bit, with the reference.
void expect_equal_to_reference(FakeRuntime& runtime, const RandomGraph& random) {
  const std::vector<HostTensor> wanted = reference::run(*random.graph, random.inputs).value();
  auto session = Session::prepare(*runtime, random.graph);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  for (const auto& [name, value] : random.inputs) ASSERT_TRUE((*session)->set_input(name, value).ok());
  // A second run may only be compared with the first if no state has changed.
  const bool has_states = std::ranges::any_of((*session)->plan().residences, [&](const Residence& residence) {
    return (random.graph->storage(residence.storage).flags & BP_TENSOR_STATE) != 0;
  });
  for (int repeat = 0; repeat < (has_states ? 1 : 2); ++repeat) {
    const Status status = (*session)->run();
    ASSERT_TRUE(status.ok()) << status.to_string();
    for (size_t i = 0; i < wanted.size(); ++i) {
      const HostTensor found = (*session)->output(random.graph->outputs()[i].name).value();
      ASSERT_TRUE(same_bytes(found, wanted[i])) << "output " << random.graph->outputs()[i].name;
    }
  }
  EXPECT_EQ((*session)->statistics().copied_bytes, (*session)->plan().copy_bytes);
  EXPECT_EQ((*session)->statistics().split_count, (*session)->plan().splits.size());
}

// Device 1 adds up what device 0 makes in its memory, all of which is alive at once; the one or the other is large too.
RandomGraph many_results_for(int64_t wide_rows) {
  const std::vector<int64_t> row = {1, 1024};
  RandomGraph made;
  made.inputs.emplace("x", HostTensor::of<int32_t>(DType::kI32, row, std::vector<int32_t>(1024, 3)));
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, row).value();
  std::vector<TensorId> parts;
  for (int i = 0; i < 32; ++i) parts.push_back(builder.op(Op::kNEG, {x}, {}, "n" + std::to_string(i)).value());
  const TensorId rows = builder.broadcast(x, std::vector<int64_t>{wide_rows, 1024}).value();
  const TensorId wide = builder.op(Op::kADD, {rows, rows}, {}, "wide").value();
  TensorId sum = builder.op(Op::kREDUCE_SUM, {wide}, {{BP_ATTR_AXES, std::vector<int64_t>{0}}}, "narrow").value();
  for (const TensorId part : parts) sum = builder.op(Op::kSUB, {sum, part}).value();
  EXPECT_TRUE(builder.output(sum, "y").ok());
  made.graph = builder.finish().value();
  return made;
}

// Memory is taken by whole buffers: device 1 takes none of more than 64 KiB.
TEST(Session, ADeviceOfSmallBuffersReadsThoseOfOthers) {
  FakeRuntime runtime(R"({"devices": 2, "memory": "host", "reads_foreign": "write", "1-max_buffer_bytes": 65536,
                          "0-deny": "sub", "1-supports": "sub"})");
  const RandomGraph small = many_results_for(2), large = many_results_for(32);
  const auto plan = make_plan(small.graph, runtime.devices()).value();
  EXPECT_TRUE(plan->copies.empty());
  uint64_t bytes = 0;
  for (const Pool& pool : plan->pools)
    for (const uint64_t chunk : pool.chunk_bytes) {
      EXPECT_LE(chunk, 65536u);
      bytes += pool.device == 0 ? chunk : 0;
    }
  EXPECT_GT(bytes, 65536u);
  expect_equal_to_reference(runtime, small);
  // The wide one fits into no buffer that device 1 would take, so that device reads copies of the others.
  EXPECT_FALSE(make_plan(large.graph, runtime.devices()).value()->copies.empty());
  expect_equal_to_reference(runtime, large);
}

class Worlds : public ::testing::TestWithParam<const char*> {};

TEST_P(Worlds, RandomGraphsGiveTheReferenceResult) {
  FakeRuntime runtime(GetParam());
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    expect_equal_to_reference(runtime, make_random_graph(seed, 30));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Session, Worlds,
                         ::testing::Values(R"({"devices": 1})", R"({"devices": 2, "supports": "alternate"})",
                                           R"({"devices": 4, "supports": "alternate"})",
                                           R"({"devices": 3, "supports": "alternate", "memory": "host"})",
                                           R"({"devices": 2, "supports": "alternate", "programs": false})",
                                           R"({"devices": 2, "supports": "alternate", "alignment": 4096})",
                                           R"({"devices": 2, "supports": "alternate", "max_buffer_bytes": 16384})",
                                           R"({"devices": 2, "supports": "alternate", "async": true,
                                               "seed": 3, "max_delay_us": 50})"));

TEST(Session, HostMemoryIsReadInPlace) {
  FakeRuntime runtime(R"({"devices": 2, "supports": "alternate", "memory": "host"})");
  const RandomGraph random = make_random_graph(5, 30);
  const auto session = Session::prepare(*runtime, random.graph).value();
  EXPECT_TRUE(session->plan().copies.empty());
}

TEST(Session, InputsKeepTheirValuesAndCanChange) {
  FakeRuntime runtime(R"({"devices": 1})");
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kShape).value();
  ASSERT_TRUE(builder.output(builder.op(Op::kNEG, {x}).value(), "y").ok());
  const auto session = Session::prepare(*runtime, builder.finish().value()).value();
  ASSERT_TRUE(session->set_input("x", values({1, 2, 3, 4, 5, 6})).ok());
  ASSERT_TRUE(session->run().ok());
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(list_of(*session->output("y")), (std::vector<int32_t>{-1, -2, -3, -4, -5, -6}));
  ASSERT_TRUE(session->set_input("x", values({7, 0, 0, 0, 0, 0})).ok());
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(list_of(*session->output("y"))[0], -7);
}

TEST(Session, StateIsKeptBetweenRuns) {
  FakeRuntime runtime(R"({"devices": 2})");
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kShape).value();
  const TensorId sum = builder.state("sum", DType::kI32, kShape).value();
  const TensorId next = builder.op(Op::kADD, {sum, x}, {}, "add").value();
  const TensorId stored = builder.node_into(sum, Op::kCOPY, std::vector<TensorId>{next}, {}, "store").value();
  ASSERT_TRUE(builder.output(stored, "y").ok());
  PlanOptions options;
  options.pins = {{"add", 0}, {"store", 1}};
  const auto session = Session::prepare(*runtime, builder.finish().value(), {}, options).value();
  ASSERT_TRUE(session->set_input("x", values({1, 2, 3, 4, 5, 6})).ok());
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(session->run().ok());
    EXPECT_EQ(list_of(*session->output("y")), (std::vector<int32_t>{i, 2 * i, 3 * i, 4 * i, 5 * i, 6 * i}));
  }
}

TEST(Session, GraphWithoutNodes) {
  FakeRuntime runtime(R"({"devices": 1})");
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kShape).value();
  const TensorId c = builder.constant(values({9, 8, 7, 6, 5, 4})).value();
  ASSERT_TRUE(builder.output(x, "same").ok());
  ASSERT_TRUE(builder.output(builder.permute(c, std::vector<int64_t>{1, 0}).value(), "turned").ok());
  const auto session = Session::prepare(*runtime, builder.finish().value()).value();
  ASSERT_TRUE(session->set_input("x", values({1, 2, 3, 4, 5, 6})).ok());
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(list_of(*session->output("same")), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(list_of(*session->output("turned")), (std::vector<int32_t>{9, 6, 8, 5, 7, 4}));
}

// Its memory has the new value, which is not what the run has seen.
TEST(Session, AnOutputThatIsAnInputIsNotShownWithALaterValue) {
  FakeRuntime runtime(R"({"devices": 1})");
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kShape).value();
  ASSERT_TRUE(builder.output(x, "same").ok());
  ASSERT_TRUE(builder.output(builder.op(Op::kNEG, {x}).value(), "y").ok());
  const auto session = Session::prepare(*runtime, builder.finish().value()).value();
  ASSERT_TRUE(session->set_input("x", values({1, 2, 3, 4, 5, 6})).ok());
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(list_of(*session->output("same"))[0], 1);
  ASSERT_TRUE(session->set_input("x", values({7, 2, 3, 4, 5, 6})).ok());
  EXPECT_EQ(session->output("same").status().id(), "session.no-output");
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(list_of(*session->output("same"))[0], 7);
}

TEST(Session, NullGraphsAndDevicesAreErrors) {
  FakeRuntime runtime(R"({"devices": 1})");
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kShape).value();
  ASSERT_TRUE(builder.output(x, "y").ok());
  EXPECT_EQ(Session::prepare(*runtime, nullptr).status().code(), Code::invalid_argument);
  EXPECT_EQ(Session::prepare(*runtime, builder.finish().value(), {nullptr}).status().code(), Code::invalid_argument);
}

TEST(Session, WrongInputsAndOutputsAreNamed) {
  FakeRuntime runtime(R"({"devices": 1})");
  GraphBuilder builder;
  const TensorId x = builder.input("image", DType::kI32, kShape).value();
  ASSERT_TRUE(builder.output(builder.op(Op::kNEG, {x}).value(), "y").ok());
  const auto session = Session::prepare(*runtime, builder.finish().value()).value();
  const Status name = session->set_input("imag", values({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(name.id(), "session.input-name");
  EXPECT_NE(name.message().find("did you mean 'image'"), std::string::npos) << name.message();
  const Status shape = session->set_input("image", HostTensor::zeros(DType::kI32, {3, 2}).value());
  EXPECT_EQ(shape.id(), "session.input-shape");
  EXPECT_NE(shape.message().find("wants i32 [2, 3], found i32 [3, 2]"), std::string::npos) << shape.message();
  EXPECT_EQ(session->set_input("image", HostTensor::zeros(DType::kF32, kShape).value()).id(), "session.input-shape");
  EXPECT_EQ(session->set_input("image", HostTensor()).id(), "session.input-shape");
  const Status unset = session->run();
  EXPECT_EQ(unset.id(), "session.input-unset");
  EXPECT_NE(unset.message().find("image"), std::string::npos);
  EXPECT_EQ(session->output("y").status().code(), Code::failed_precondition);
  EXPECT_EQ(session->output("z").status().id(), "session.output-name");
}

TEST(Session, ADeviceFailureIsReportedAndTheSessionGoesOn) {
  FakeRuntime runtime(R"({"devices": 1, "fail_at_call": 2})");
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kShape).value();
  ASSERT_TRUE(builder.output(builder.op(Op::kNEG, {x}).value(), "y").ok());
  const auto session = Session::prepare(*runtime, builder.finish().value()).value();
  ASSERT_TRUE(session->set_input("x", values({1, 2, 3, 4, 5, 6})).ok());
  ASSERT_TRUE(session->run().ok());
  const Status failed = session->run();
  EXPECT_EQ(failed.code(), Code::internal);
  EXPECT_NE(failed.message().find("split 0 on "), std::string::npos) << failed.message();
  EXPECT_FALSE(session->output("y").ok());
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(list_of(*session->output("y"))[0], -1);
}

TEST(Session, ARefusedSplitGoesToTheNextDevice) {
  FakeRuntime runtime(R"({"devices": 2, "fault_device": 0, "fail_at_call": 1, "fail_code": -3})");
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kShape).value();
  const TensorId w = builder.constant(values({1, 1, 1, 1, 1, 1})).value();
  ASSERT_TRUE(builder.output(builder.op(Op::kADD, {x, w}).value(), "y").ok());
  const auto session = Session::prepare(*runtime, builder.finish().value()).value();
  ASSERT_EQ(session->plan().splits[0].device, 0u);
  ASSERT_TRUE(session->set_input("x", values({1, 2, 3, 4, 5, 6})).ok());
  const Status status = session->run();
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(session->plan().splits[0].device, 1u);
  EXPECT_EQ(list_of(*session->output("y")), (std::vector<int32_t>{2, 3, 4, 5, 6, 7}));
}

TEST(Session, ARunThatHasWrittenAStateIsNotStartedAgain) {
  FakeRuntime runtime(R"({"devices": 2, "fault_device": 1, "fail_at_call": 1, "fail_code": -3})");
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kShape).value();
  const TensorId sum = builder.state("sum", DType::kI32, kShape).value();
  const TensorId next = builder.op(Op::kADD, {sum, x}, {}, "add").value();
  const TensorId stored = builder.node_into(sum, Op::kCOPY, std::vector<TensorId>{next}, {}, "store").value();
  ASSERT_TRUE(builder.output(builder.op(Op::kNEG, {stored}, {}, "neg").value(), "y").ok());
  PlanOptions options;
  options.pins = {{"add", 0}, {"store", 0}, {"neg", 1}};
  const auto session = Session::prepare(*runtime, builder.finish().value(), {}, options).value();
  ASSERT_TRUE(session->set_input("x", values({1, 2, 3, 4, 5, 6})).ok());
  EXPECT_EQ(session->run().code(), Code::unimplemented);  // the state has x once
  ASSERT_TRUE(session->run().ok());                       // and now twice
  EXPECT_EQ(list_of(*session->output("y")), (std::vector<int32_t>{-2, -4, -6, -8, -10, -12}));
}

TEST(Session, OutOfMemoryIsAStatusAndLeavesTheRuntimeUsable) {
  FakeRuntime runtime(R"({"devices": 1, "memory_limit_bytes": 16384})");
  const auto graph_of = [](int64_t elements) {
    GraphBuilder builder;
    const TensorId x = builder.input("x", DType::kI32, std::vector<int64_t>{elements}).value();
    EXPECT_TRUE(builder.output(builder.op(Op::kNEG, {x}).value(), "y").ok());
    return builder.finish().value();
  };
  const Status status = Session::prepare(*runtime, graph_of(100000)).status();
  EXPECT_EQ(status.code(), Code::resource_exhausted);
  EXPECT_NE(status.message().find("graph inputs and outputs"), std::string::npos) << status.message();
  EXPECT_TRUE(Session::prepare(*runtime, graph_of(100)).ok());
}

TEST(Session, CancelBeforeASplitEndsTheRun) {
  FakeRuntime runtime(R"({"devices": 2, "async": true, "seed": 1, "max_delay_us": 1000})");
  GraphBuilder builder;
  TensorId x = builder.input("x", DType::kI32, kShape).value();
  PlanOptions options;
  for (int i = 0; i < 400; ++i) {
    x = builder.op(Op::kNEG, {x}, {}, "n" + std::to_string(i)).value();
    options.pins.emplace_back("n" + std::to_string(i), static_cast<uint32_t>(i % 2));
  }
  ASSERT_TRUE(builder.output(x, "y").ok());
  const auto session = Session::prepare(*runtime, builder.finish().value(), {}, options).value();
  ASSERT_TRUE(session->set_input("x", values({1, 2, 3, 4, 5, 6})).ok());
  std::atomic<bool> done{false};
  std::thread canceller([&] {
    while (!done) session->cancel();
  });
  const Status status = session->run();
  done = true;
  canceller.join();
  EXPECT_EQ(status.code(), Code::cancelled) << status.to_string();
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(list_of(*session->output("y"))[0], 1);
}

// Of what a file is behind, no more than a piece is in memory twice.
TEST(Session, CopiedConstantsOfAFileAreEvicted) {
  class Recorder final : public FileMemory {
   public:
    void evict(std::span<const std::byte> bytes) const override { evicted.push_back(bytes.size()); }
    mutable std::vector<size_t> evicted;
  };
  constexpr int64_t kRows = 5120, kWidth = 1024;  // 20 MiB
  const Recorder recorder;
  std::vector<int32_t> table(kRows * kWidth);
  for (size_t at = 0; at < table.size(); ++at) table[at] = static_cast<int32_t>(at);
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI64, std::vector<int64_t>{1}).value();
  const TensorId rows = builder
                            .constant(HostTensor::borrow(DType::kI32, {kRows, kWidth}, std::as_bytes(std::span(table)),
                                                         nullptr, &recorder)
                                          .value())
                            .value();
  const TensorId y = builder.op(Op::kGATHER, {rows, x}, {{BP_ATTR_AXIS, int64_t{0}}}).value();
  ASSERT_TRUE(builder.output(y, "y").ok());
  FakeRuntime runtime(R"({"devices": 1})");
  const auto session = Session::prepare(*runtime, builder.finish().value()).value();
  EXPECT_EQ(recorder.evicted, (std::vector<size_t>{size_t{16} << 20, size_t{4} << 20}));
  const int64_t last = kRows - 1;
  ASSERT_TRUE(session->set_input("x", HostTensor::of<int64_t>(DType::kI64, {1}, std::span(&last, 1))).ok());
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(list_of(session->output("y").value()).back(), kRows * kWidth - 1);
}

}  // namespace
}  // namespace backplane
