// Memory of sessions that grows: by use() of larger graphs and by reserve(), with and without memory for it.
#include <gtest/gtest.h>

#include <tuple>

#include "fake_device.hpp"
#include "fake_runtime.hpp"
#include "small_graphs.hpp"

namespace backplane::testing {
namespace {

const std::vector<int64_t> kLargeShape = {40, 60};
constexpr int kSmallLength = 4, kLargeLength = 7;

std::vector<int32_t> run_chain(Session& session, int32_t value, const std::vector<int64_t>& shape) {
  HostTensor x = HostTensor::zeros(DType::kI32, shape).value();
  for (int64_t i = 0; i < x.elements(); ++i) x.mutable_data<int32_t>()[i] = value;
  const Status set = session.set_input("x", x);
  const Status ran = set.ok() ? session.run() : set;
  if (!ran.ok()) {
    ADD_FAILURE() << ran.to_string();
    return {};
  }
  return list_of(session.output("y").value());
}

void expect_runs(Session& session, const std::vector<int64_t>& shape, int length) {
  const std::vector<int32_t> y = run_chain(session, 5, shape);
  EXPECT_EQ(y, std::vector<int32_t>(y.size(), 5 + length));
}

using How = Status (Session::*)(std::shared_ptr<const Graph>);

class Growth : public ::testing::TestWithParam<std::tuple<const char*, uint32_t, bool>> {
 protected:
  SessionOptions options() const {
    SessionOptions options(in_turn(kLargeLength, 2));
    options.plan.pins.resize(kSmallLength);  // that both graphs have
    options.pipeline_depth = std::get<1>(GetParam());
    options.recover = std::get<2>(GetParam());
    return options;
  }
  // Lets the k-th allocation fail for every k, until all succeed.
  void fail_each_allocation(How grow, bool in_use_after) {
    FakeRuntime runtime(std::get<0>(GetParam()));
    const std::vector<Device*> devices = runtime.devices();
    const auto small = adding_chain(kSmallLength), large = adding_chain(kLargeLength, kLargeShape);
    size_t failures = 0;
    for (const Device* device : devices) {
      bool struck = true;
      for (uint64_t call = 1; struck; ++call) {
        SCOPED_TRACE(device->name() + ", allocation " + std::to_string(call));
        {
          const auto session = Session::prepare(*runtime, small, {}, options()).value();
          expect_runs(*session, kSmallShape, kSmallLength);
          reset_fakes(devices);
          fake_extension(*device).set_fault(device->handle(), BP_FAKE_ALLOCATE, call, BP_E_DEVICE_MEMORY);
          const Status grown = ((*session).*grow)(large);
          struck = fake_counters(*device).calls[BP_FAKE_ALLOCATE] >= call;
          failures += grown.ok() ? 0 : 1;
          EXPECT_TRUE(grown.ok() || struck) << grown.to_string();
          if (!grown.ok()) {
            EXPECT_EQ(&session->graph(), small.get());
            EXPECT_EQ(session->plan().graph, small);
          }
          const bool is_large = grown.ok() && in_use_after;
          if (!is_large) {
            EXPECT_EQ(list_of(session->output("y").value()), std::vector<int32_t>(6, 5 + kSmallLength));
          }
          if (is_large)
            expect_runs(*session, kLargeShape, kLargeLength);
          else
            expect_runs(*session, kSmallShape, kSmallLength);
          reset_fakes(devices);
          ASSERT_TRUE(session->use(large).ok());
          expect_runs(*session, kLargeShape, kLargeLength);
          ASSERT_TRUE(session->use(small).ok());
          expect_runs(*session, kSmallShape, kSmallLength);
        }
        EXPECT_EQ(fake_leaks(devices), "");
      }
    }
    EXPECT_TRUE(failures > 0 || std::get<2>(GetParam()));
  }
};

TEST_P(Growth, ByUseWhereAnyAllocationFails) { fail_each_allocation(&Session::use, true); }
TEST_P(Growth, ByReserveWhereAnyAllocationFails) { fail_each_allocation(&Session::reserve, false); }

INSTANTIATE_TEST_SUITE_P(Session, Growth,
                         ::testing::Combine(::testing::Values(R"({"devices": 2})",
                                                              R"({"devices": 2, "memory": "host", "async": true})",
                                                              R"({"devices": 2, "max_buffer_bytes": 10000})"),
                                            ::testing::Values(1u, 3u), ::testing::Bool()));

TEST(Reserve, UseOfTheGraphThenAllocatesNothing) {
  FakeRuntime runtime(R"({"devices": 2})");
  const auto large = adding_chain(kLargeLength, kLargeShape);
  const auto session = Session::prepare(*runtime, adding_chain(kSmallLength)).value();
  expect_runs(*session, kSmallShape, kSmallLength);
  ASSERT_TRUE(session->reserve(large).ok());
  EXPECT_EQ(list_of(session->output("y").value()), std::vector<int32_t>(6, 5 + kSmallLength));
  expect_runs(*session, kSmallShape, kSmallLength);
  reset_fakes(runtime.devices());
  ASSERT_TRUE(session->use(large).ok());
  expect_runs(*session, kLargeShape, kLargeLength);
  for (const Device* device : runtime.devices()) EXPECT_EQ(fake_counters(*device).calls[BP_FAKE_ALLOCATE], 0u);
  EXPECT_EQ(session->totals().plan_hits, 1u);
}

TEST(Reserve, TheGraphInUseStaysThoughManyAreReserved) {
  FakeRuntime runtime("{}");
  SessionOptions options;
  options.cached_plans = 2;
  const auto session = Session::prepare(*runtime, adding_chain(kSmallLength), {}, options).value();
  for (int length = 1; length < 9; ++length)
    if (length != kSmallLength) {
      ASSERT_TRUE(session->reserve(adding_chain(length, kLargeShape)).ok());
      expect_runs(*session, kSmallShape, kSmallLength);
    }
}

TEST(Reserve, StatesKeepTheirValues) {
  FakeRuntime runtime(R"({"devices": 2})");
  const auto session = Session::prepare(*runtime, accumulator()).value();
  ASSERT_TRUE(session->set_input("x", small_value(4)).ok());
  ASSERT_TRUE(session->run().ok());
  // Another plan has the same state elsewhere.
  ASSERT_TRUE(session->reserve(accumulator()).ok());
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(first_of(session->output("y")), 8);
}

TEST(Reserve, NeedsRoomForTwoPlansAndNothingInFlight) {
  FakeRuntime runtime("{}");
  SessionOptions options;
  options.cached_plans = 1;
  const auto session = Session::prepare(*runtime, adding_chain(2), {}, options).value();
  EXPECT_EQ(session->reserve(adding_chain(3)).id(), "session.cached-plans");
  EXPECT_EQ(session->reserve(nullptr).code(), Code::invalid_argument);
  const auto other = Session::prepare(*runtime, adding_chain(2)).value();
  ASSERT_TRUE(other->set_input("x", small_value(1)).ok());
  const uint64_t run = other->submit().value();
  EXPECT_EQ(other->reserve(adding_chain(3)).id(), "session.in-flight");
  EXPECT_TRUE(other->wait(run).ok());
}

// What a plan says that it needs is what the devices give, to the byte.
TEST(Needs, AreWhatIsAllocated) {
  for (const char* world :
       {R"({"devices": 3, "alignment": 4})", R"({"devices": 3, "alignment": 4, "max_buffer_bytes": 20000})"}) {
    FakeRuntime runtime(world);
    const auto graph = adding_chain(9, kLargeShape);
    const PlanOptions options = in_turn(9, 3);
    const auto plan = make_plan(graph, runtime.devices(), options).value();
    for (const Device* device : runtime.devices()) EXPECT_EQ(fake_counters(*device).calls[BP_FAKE_ALLOCATE], 0u);
    const auto session = Session::prepare(*runtime, graph, {}, options).value();
    const std::vector<DeviceNeeds> needs = plan->needs();
    for (size_t i = 0; i < needs.size(); ++i)
      EXPECT_EQ(fake_counters(*runtime.devices()[i]).live_bytes,
                needs[i].arena_bytes + needs[i].ports_bytes + needs[i].constant_bytes + needs[i].state_bytes)
          << world << ", device " << i;
  }
}

}  // namespace
}  // namespace backplane::testing
