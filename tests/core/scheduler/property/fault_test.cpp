// Invariants 28 to 30: whatever fails, whenever -- an allocation, a submission, a copy, a device, the run's being
// cancelled -- a run gives the right result or a status, never wrong numbers; the session runs again; nothing leaks.
#include <gtest/gtest.h>

#include <algorithm>

#include "backplane/base/text.hpp"
#include "fake_device.hpp"
#include "oracle.hpp"
#include "random_graph.hpp"

namespace backplane::testing {
namespace {

constexpr const char* kWorlds[] = {
    R"({"devices": 2, "supports": "alternate"})", R"({"devices": 2, "supports": "alternate", "memory": "host"})",
    R"({"devices": 3, "supports": "alternate", "async": true, "max_delay_us": 20, "detect_conflicts": true})",
    R"({"devices": 3, "1-memory": "host", "1-deny": "sub,matmul", "0-deny": "neg,concat", "programs": false})",
    R"({"devices": 2, "deny": "neg", "1-deny": "sub", "events": false, "peer_copy": false, "async": true})"};

// Without states, so that every run that succeeds must give the same.
GeneratedGraph stateless(uint64_t seed) { return make_random_graph(seed, 8); }

struct Fault {
  size_t device;
  uint32_t kind;
  uint64_t call;
  bp_code code;
};

class Faults : public ::testing::TestWithParam<const char*> {
 protected:
  // Prepares and runs twice under a fault, and once more without. Faults may make a call fail, never a result wrong.
  void run_with(FakeRuntime& runtime, const GeneratedGraph& generated, const Outputs& wanted, const Fault& fault) {
    SCOPED_TRACE(cat("device ", fault.device, ", call ", fault.call, " of kind ", fault.kind, ", code ", fault.code));
    const std::vector<Device*> devices = runtime.devices();
    const Device& struck = *devices[fault.device];
    ++tried_;
    reset_fakes(devices);
    fake_extension(struck).set_fault(struck.handle(), fault.kind, fault.call, fault.code);
    {
      auto session = Session::prepare(*runtime, generated.graph);
      if (session.ok() && set_inputs(**session, generated).ok())
        for (int run = 0; run < 2; ++run) expect_right_or_failed(**session, wanted, nullptr);
      fake_extension(struck).set_fault(struck.handle(), BP_FAKE_ANY, 0, BP_OK);
      if (session.ok() && fault.code != BP_E_DEVICE_LOST) {
        const Status inputs = set_inputs(**session, generated);
        ASSERT_TRUE(inputs.ok()) << inputs.to_string();
        Status status;
        expect_right_or_failed(**session, wanted, &status);
        EXPECT_TRUE(status.ok()) << "the session does not run again: " << status.to_string();
      }
    }
    struck_ += fake_counters(struck).calls[fault.kind] >= fault.call ? 1 : 0;
    EXPECT_EQ(fake_leaks(devices), "");
    EXPECT_EQ(fake_conflict(*devices[0]), "");
  }

  static void expect_right_or_failed(Session& session, const Outputs& wanted, Status* status) {
    const Status found = session.run();
    if (status != nullptr) *status = found;
    if (!found.ok()) return;
    const std::string difference = compare_outputs(session, wanted);
    // Reading an output is a call that can be struck too.
    if (difference.find("fault was planned") == std::string::npos && difference.find("was lost") == std::string::npos) {
      EXPECT_EQ(difference, "");
    }
  }

  // Calls of each kind that preparing and two runs make on a device.
  static std::vector<bp_fake_counters> count_calls(FakeRuntime& runtime, const GeneratedGraph& generated,
                                                   const Outputs& wanted) {
    reset_fakes(runtime.devices());
    {
      const auto session = Session::prepare(*runtime, generated.graph).value();
      EXPECT_TRUE(set_inputs(*session, generated).ok());
      for (int run = 0; run < 2; ++run) {
        Status status;
        expect_right_or_failed(*session, wanted, &status);
        EXPECT_TRUE(status.ok()) << status.to_string();
      }
    }
    std::vector<bp_fake_counters> counters;
    for (const Device* device : runtime.devices()) counters.push_back(fake_counters(*device));
    return counters;
  }

  // Calls visit(device, kind, call) for every call that was counted.
  template <class Visit>
  static void for_each_call(const std::vector<bp_fake_counters>& counters, const Visit& visit) {
    for (size_t device = 0; device < counters.size(); ++device)
      for (uint32_t kind = 0; kind < BP_FAKE_ANY; ++kind)
        for (uint64_t call = 1; call <= counters[device].calls[kind]; ++call) visit(device, kind, call);
  }

  Oracle oracle_;
  size_t tried_ = 0, struck_ = 0;  // faults; those whose call was made
};

TEST_P(Faults, AtEachCallAreRecoveredFromOrReported) {
  FakeRuntime runtime(GetParam());
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    const GeneratedGraph generated = stateless(seed);
    std::string fault;
    const Outputs wanted = oracle_.two_runs(generated, fault)[0];
    for_each_call(count_calls(runtime, generated, wanted), [&](size_t device, uint32_t kind, uint64_t call) {
      for (const bp_code code : {BP_E_INTERNAL, BP_E_UNSUPPORTED, BP_E_DEVICE_MEMORY})
        if (code == BP_E_INTERNAL || kind <= BP_FAKE_COMPILE)
          run_with(runtime, generated, wanted, {device, kind, call, code});
    });
  }
  EXPECT_GT(struck_, tried_ * 9 / 10);
}

TEST_P(Faults, LossOfADeviceAtEachCallIsRecoveredFromOrReported) {
  const GeneratedGraph generated = stateless(7);
  std::string fault;
  const Outputs wanted = oracle_.two_runs(generated, fault)[0];
  std::vector<bp_fake_counters> counters;
  {
    FakeRuntime runtime(GetParam());
    counters = count_calls(runtime, generated, wanted);
  }
  for_each_call(counters, [&](size_t device, uint32_t kind, uint64_t call) {
    FakeRuntime runtime(GetParam());
    run_with(runtime, generated, wanted, {device, kind, call, BP_E_DEVICE_LOST});
  });
  EXPECT_GT(struck_, tried_ * 9 / 10);
}

TEST_P(Faults, CancellingAtEachNodeLeavesTheSessionUsable) {
  FakeRuntime runtime(GetParam());
  const GeneratedGraph generated = stateless(11);
  std::string fault;
  const Outputs wanted = oracle_.two_runs(generated, fault)[0];
  const auto session = Session::prepare(*runtime, generated.graph).value();
  ASSERT_TRUE(set_inputs(*session, generated).ok());
  for (NodeId last = 0; last < generated.graph->node_count(); ++last) {
    NodeId seen = 0;
    const Observer observer{nullptr, [&](NodeId, const std::vector<HostTensor>&) { return seen++ < last; }};
    RunOptions options;
    options.observer = &observer;
    EXPECT_EQ(session->run(options).code(), Code::cancelled);
    EXPECT_EQ(seen, last + 1);
    Status status;
    expect_right_or_failed(*session, wanted, &status);
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
}

INSTANTIATE_TEST_SUITE_P(Property, Faults, ::testing::ValuesIn(kWorlds));

TEST(Hang, ADeviceThatHangsIsLeftBehindInTime) {
  FakeRuntime runtime(R"({"devices": 2, "supports": "alternate", "async": true, "0-hang_at_call": 2})");
  Oracle oracle;
  const GeneratedGraph generated = stateless(3);
  std::string fault;
  const Outputs wanted = oracle.two_runs(generated, fault)[0];
  const auto session = Session::prepare(*runtime, generated.graph).value();
  ASSERT_TRUE(set_inputs(*session, generated).ok());
  RunOptions options;
  options.timeout_ns = 50'000'000;
  bool timed_out = false;
  for (int run = 0; run < 3 && !timed_out; ++run) {
    const Status status = session->run(options);
    timed_out = status.code() == Code::deadline_exceeded;
    EXPECT_TRUE(timed_out || status.ok()) << status.to_string();
  }
  EXPECT_TRUE(timed_out);
  const Status status = session->run();
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(compare_outputs(*session, wanted), "");
}

}  // namespace
}  // namespace backplane::testing
