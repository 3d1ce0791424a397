// Invariants 31, 32 and 39: no fixed limits, and no growth from run to run.
#include <gtest/gtest.h>

#include "all_families.hpp"
#include "backplane/graph/builder.hpp"
#include "fake_device.hpp"
#include "graph_maker.hpp"
#include "oracle.hpp"
#include "run_checks.hpp"

namespace backplane::testing {
namespace {

const GraphFamily& family(const std::string& name) {
  for (const GraphFamily& candidate : all_families())
    if (candidate.name == name) return candidate;
  throw std::runtime_error("no family " + name);
}

std::string check_on(const std::string& world, const GeneratedGraph& generated) {
  FakeRuntime runtime(world);
  Oracle oracle;
  std::string fault;
  const std::vector<Outputs> wanted = oracle.two_runs(generated, fault);
  if (!fault.empty()) return fault;
  const auto session = Session::prepare(*runtime, generated.graph);
  return session.ok() ? check_runs_in_turn(**session, generated, wanted) : session.status().to_string();
}

TEST(Limits, AThousandInputsOfOneSplit) {
  EXPECT_EQ(check_on(R"({"devices": 2, "deny": "neg", "1-deny": "concat"})", family("many_inputs").make(1, 1000)), "");
}

TEST(Limits, AsManySplitsAsNodes) {
  EXPECT_EQ(check_on(R"({"devices": 2, "supports": "alternate"})", family("deep").make(1, 2000)), "");
}

TEST(Limits, AVeryDeepChain) { EXPECT_EQ(check_on(R"({"devices": 1})", family("deep").make(1, 20000)), ""); }

TEST(Limits, ThousandsOfHoles) { EXPECT_EQ(check_on(R"({"devices": 1})", family("comb").make(1, 6000)), ""); }

TEST(Limits, SixtyFourDevices) {
  EXPECT_EQ(check_on(R"({"devices": 64, "supports": "alternate"})", family("random").make(2, 300)), "");
}

TEST(Limits, EveryFamilyRunsLarge) {
  for (const GraphFamily& each : all_families()) {
    SCOPED_TRACE(each.name);
    EXPECT_EQ(check_on(R"({"devices": 3, "0-deny": "relu,mul", "1-deny": "matmul,sub", "1-memory": "host"})",
                       each.make(5, 150)),
              "");
  }
}

TEST(Limits, NothingGrowsWhileGraphsTakeTurns) {
  FakeRuntime runtime(R"({"devices": 2, "0-deny": "sub", "1-deny": "neg"})");
  Oracle oracle;
  std::vector<GeneratedGraph> graphs;
  std::vector<Outputs> wanted;
  for (const int size : {5, 30, 50}) {
    graphs.push_back(family("cells").make(3, size));
    std::string fault;
    wanted.push_back(oracle.two_runs(graphs.back(), fault)[0]);
  }
  const auto session = Session::prepare(*runtime, graphs[0].graph).value();
  const auto live = [&] {
    uint64_t sum = 0;
    for (const Device* device : runtime.devices()) {
      const bp_fake_counters counters = fake_counters(*device);
      sum += counters.live_bytes + counters.live_buffers + counters.live_programs + counters.live_events;
    }
    return sum;
  };
  uint64_t settled = 0;
  for (size_t run = 0; run < 300; ++run) {
    const size_t turn = run * 7 % 3;
    ASSERT_TRUE(session->use(graphs[turn].graph).ok());
    ASSERT_EQ(check_runs_in_turn(*session, graphs[turn], {wanted[turn]}), "") << "run " << run;
    if (run == 10) settled = live();
  }
  EXPECT_EQ(live(), settled);
  EXPECT_EQ(session->totals().plans_made, 3u);
}

}  // namespace
}  // namespace backplane::testing
