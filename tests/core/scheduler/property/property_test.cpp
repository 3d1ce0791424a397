// The properties of plans and runs on many generated graphs. BACKPLANE_PROPERTY_GRAPHS says how many of each test,
// BACKPLANE_PROPERTY_SEED the number of the first; BACKPLANE_PROPERTY_PLANS_ONLY=1 runs nothing.
#include <gtest/gtest.h>

#include <cstdlib>

#include "device_world.hpp"
#include "trial.hpp"

namespace backplane::testing {
namespace {

constexpr uint64_t kGraphsPerWorld = 50;

uint64_t from_environment(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != 0 ? std::strtoull(text, nullptr, 10) : fallback;
}

void run_trials(uint64_t graphs, bool async) {
  const uint64_t first = from_environment("BACKPLANE_PROPERTY_SEED", 1);
  graphs = from_environment("BACKPLANE_PROPERTY_GRAPHS", graphs);
  for (uint64_t done = 0; done < graphs;) {
    const uint64_t world_seed = (first + done) / kGraphsPerWorld;
    Trial trial(make_device_world(world_seed, async), from_environment("BACKPLANE_PROPERTY_PLANS_ONLY", 0) != 0);
    do {
      const TrialCase one = make_case(first + done);
      if (const std::string fault = trial.run(one); !fault.empty()) {
        FAIL() << one.text() << ": " << fault << "\nBACKPLANE_PROPERTY_SEED=" << first + done << ", smallest:\n"
               << trial.describe_smallest(one);
      }
    } while (++done < graphs && (first + done) / kGraphsPerWorld == world_seed);
  }
}

TEST(Property, OfSynchronousDevices) { run_trials(10000, false); }
TEST(Property, OfAsynchronousDevices) { run_trials(500, true); }

}  // namespace
}  // namespace backplane::testing
