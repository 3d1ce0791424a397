// The properties of plans and runs on many generated graphs. BACKPLANE_PROPERTY_GRAPHS says how many of each part,
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

// Parts run at the same time, each on its own numbers.
class Property : public ::testing::TestWithParam<uint64_t> {
 protected:
  void run_trials(uint64_t graphs, bool async);
};

void Property::run_trials(uint64_t graphs, bool async) {
  graphs = from_environment("BACKPLANE_PROPERTY_GRAPHS", graphs);
  const uint64_t first = from_environment("BACKPLANE_PROPERTY_SEED", 1) + GetParam() * graphs;
  const bool plans_only = from_environment("BACKPLANE_PROPERTY_PLANS_ONLY", 0) != 0;
  for (uint64_t number = first; number < first + graphs;) {
    const uint64_t world = number / kGraphsPerWorld;
    Trial trial(make_device_world(world, async), plans_only);
    for (; number < first + graphs && number / kGraphsPerWorld == world; ++number) {
      const TrialCase one = make_case(number);
      const std::string fault = trial.run(one);
      if (!fault.empty())
        FAIL() << one.text() << ": " << fault << "\nBACKPLANE_PROPERTY_SEED=" << number << ", smallest:\n"
               << trial.describe_smallest(one);
    }
  }
}

TEST_P(Property, OfSynchronousDevices) { run_trials(2500, false); }
TEST_P(Property, OfAsynchronousDevices) { run_trials(250, true); }

INSTANTIATE_TEST_SUITE_P(Part, Property, ::testing::Range<uint64_t>(0, 4));

}  // namespace
}  // namespace backplane::testing
