// How memkind's heap is begun, each time in a process of its own: without hardware, by option, with every policy, and a
// second time with something else.

#include <gtest/gtest.h>
#include <hbwmalloc.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "backplane/sdk/error.hpp"
#include "hbw_memory.hpp"

namespace backplane_cpu_hbm::testing {
namespace {

constexpr const char* kVariable = "MEMKIND_HBW_NODES";

// Runs `body` in a child, which has used no memkind; its failures become ours.
template <class Body>
void in_a_process_of_its_own(const char* nodes_variable, const Body& body) {
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    nodes_variable == nullptr ? unsetenv(kVariable) : setenv(kVariable, nodes_variable, 1);
    body();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child ended with status " << status;
}

struct Outcome {
  bp_code code = BP_OK;
  std::string text;
  bool says(const std::string& part) const { return text.find(part) != std::string::npos; }
};

Outcome open(Policy policy, const std::string& nodes) {
  try {
    HbwMemory memory({policy, nodes, 0});
    return {BP_OK, nodes_text(memory.nodes())};
  } catch (const backplane::sdk::Error& error) {
    return {error.code(), error.what()};
  }
}

// The kernel's mode for the pages of a block, MPOL_*.
int mode_of(HbwMemory& memory) {
  constexpr uint64_t kBytes = 1 << 20;
  std::byte* const block = memory.allocate(kBytes, 64);
  int mode = -1;
  EXPECT_EQ(syscall(SYS_get_mempolicy, &mode, nullptr, 0UL, block, static_cast<unsigned long>(MPOL_F_ADDR)), 0);
  EXPECT_EQ(hbw_verify_memory_region(block, kBytes, HBW_TOUCH_PAGES), 0);
  memory.release(block, kBytes, 64);
  return mode;
}

TEST(Start, WithoutHardwareSaysWhyAndWhatToSet) {
  in_a_process_of_its_own(nullptr, [] {
    const Outcome outcome = open(Policy::bind, "");
    if (outcome.code == BP_OK) return;  // a machine that has it
    EXPECT_EQ(outcome.code, BP_E_NO_HARDWARE) << outcome.text;
    EXPECT_TRUE(outcome.says("No such device")) << outcome.text;
    EXPECT_TRUE(outcome.says("option 'nodes'")) << outcome.text;
    EXPECT_TRUE(outcome.says(kVariable)) << outcome.text;
    // Too late: what memkind has not found, it never finds.
    const Outcome later = open(Policy::bind, "0");
    EXPECT_EQ(later.code, BP_E_NO_HARDWARE) << later.text;
    EXPECT_TRUE(later.says("start the program anew")) << later.text;
  });
}

TEST(Start, EveryPolicyIsTheKernels) {
  for (const auto& [policy, mode] : {std::pair{Policy::bind, static_cast<int>(MPOL_BIND)},
                                     {Policy::preferred, static_cast<int>(MPOL_PREFERRED)},
                                     {Policy::interleave, static_cast<int>(MPOL_INTERLEAVE)}})
    for (const bool by_option : {false, true}) {
      SCOPED_TRACE(std::string(policy_text(policy)) + (by_option ? " by option" : " by variable"));
      in_a_process_of_its_own(by_option ? nullptr : "0", [policy = policy, mode = mode, by_option] {
        HbwMemory memory({policy, by_option ? "0" : "", 0});
        EXPECT_EQ(memory.nodes(), NodeSet{0});
        EXPECT_EQ(mode_of(memory), mode);
        EXPECT_EQ(getenv(kVariable) == nullptr, by_option) << "the environment is as it was";
      });
    }
}

TEST(Start, NodesThatCannotBeAreNamed) {
  in_a_process_of_its_own("0", [] {
    const Outcome missing = open(Policy::bind, "0,1023");
    EXPECT_EQ(missing.code, BP_E_NO_HARDWARE);
    EXPECT_TRUE(missing.says("option 'nodes' names NUMA node 1023")) << missing.text;
    const Outcome nonsense = open(Policy::bind, "fast");
    EXPECT_EQ(nonsense.code, BP_E_INVALID_ARG);
    EXPECT_TRUE(nonsense.says("option 'nodes' is 'fast'")) << nonsense.text;
    EXPECT_EQ(open(Policy::bind, "").code, BP_OK) << "nothing was decided by what was refused";
  });
  in_a_process_of_its_own("fast", [] {
    const Outcome nonsense = open(Policy::bind, "");
    EXPECT_EQ(nonsense.code, BP_E_INVALID_ARG);
    EXPECT_TRUE(nonsense.says("MEMKIND_HBW_NODES is 'fast'")) << nonsense.text;
    EXPECT_EQ(open(Policy::bind, "0").code, BP_OK) << "the option counts more than the variable";
  });
}

TEST(Start, AProcessHasOnePolicy) {
  in_a_process_of_its_own("0", [] {
    EXPECT_EQ(open(Policy::interleave, "").code, BP_OK);
    EXPECT_EQ(open(Policy::interleave, "0").code, BP_OK);
    const Outcome other = open(Policy::bind, "");
    EXPECT_EQ(other.code, BP_E_STATE);
    EXPECT_TRUE(other.says("policy 'bind' is wanted, and memkind works with 'interleave'")) << other.text;
    EXPECT_EQ(open(Policy::interleave, "").code, BP_OK) << "and goes on with it";
  });
}

}  // namespace
}  // namespace backplane_cpu_hbm::testing
