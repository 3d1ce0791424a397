// What the tests of this folder share: sessions over simulated devices, and what those have counted.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backplane/reference/reference.hpp"
#include "fake_device.hpp"
#include "fake_runtime.hpp"
#include "graph_maker.hpp"
#include "small_graphs.hpp"

namespace backplane::testing {

// Pins by node name.
inline PlanOptions pinned(std::vector<std::pair<std::string, uint32_t>> pins) {
  PlanOptions options;
  options.pins = std::move(pins);
  return options;
}

inline Status run_once(Session& session, const std::map<std::string, HostTensor>& inputs) {
  for (const auto& [name, value] : inputs) BP_TRY(session.set_input(name, value));
  return session.run();
}

// Runs a graph without states so often, and compares each output with the reference.
inline void expect_right(Session& session, const GeneratedGraph& generated, int runs = 1) {
  const std::vector<HostTensor> wanted = reference::run(*generated.graph, generated.inputs).value();
  for (int run = 0; run < runs; ++run) {
    const Status status = run_once(session, generated.inputs);
    ASSERT_TRUE(status.ok()) << status.to_string();
    for (size_t i = 0; i < wanted.size(); ++i)
      ASSERT_EQ(list_of(session.output(generated.graph->outputs()[i].name).value()), list_of(wanted[i]))
          << "output " << i << " of run " << run;
  }
}

inline uint64_t pool_bytes(const Plan& plan, PoolKind kind, uint32_t device = kNone) {
  uint64_t sum = 0;
  for (const Pool& pool : plan.pools)
    if (pool.kind == kind && (device == kNone || pool.device == device)) sum += pool.peak_bytes;
  return sum;
}

inline uint64_t live_bytes(const FakeRuntime& runtime) {
  uint64_t sum = 0;
  for (const Device* device : runtime.devices()) sum += fake_counters(*device).live_bytes;
  return sum;
}

inline uint64_t calls(const FakeRuntime& runtime, uint32_t kind) {
  uint64_t sum = 0;
  for (const Device* device : runtime.devices()) sum += fake_counters(*device).calls[kind];
  return sum;
}

}  // namespace backplane::testing
