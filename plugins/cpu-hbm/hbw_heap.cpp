#include "hbw_heap.hpp"

#include <hbwmalloc.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <system_error>

#include "backplane/sdk/error.hpp"
#include "node_memory.hpp"

namespace backplane_cpu_hbm {

using backplane::sdk::Error;

namespace {

constexpr const char* kVariable = "MEMKIND_HBW_NODES";
constexpr const char* kWhatToSet =
    "; if nodes of this machine are to be used as such, name them in the option 'nodes' of this plugin or in "
    "MEMKIND_HBW_NODES, for example 0";

std::string error_text(int number) { return std::generic_category().message(number); }

hbw_policy_t hbw_policy(Policy policy) {
  if (policy == Policy::preferred) return HBW_POLICY_PREFERRED;
  // Not HBW_POLICY_BIND, which knows one node for each processor only and would leave the others' memory unused.
  return policy == Policy::interleave ? HBW_POLICY_INTERLEAVE : HBW_POLICY_BIND_ALL;
}

std::string hbw_policy_text(hbw_policy_t policy) {
  for (const Policy known : {Policy::bind, Policy::preferred, Policy::interleave})
    if (hbw_policy(known) == policy) return policy_text(known);
  return "number " + std::to_string(policy);
}

// The nodes that were asked for; none = whatever memkind finds. Checked here because libnuma, which memkind asks,
// prints its complaints.
std::optional<NodeSet> wanted_nodes(const std::string& option) {
  const char* const variable = secure_getenv(kVariable);
  if (option.empty() && variable == nullptr) return std::nullopt;
  const std::string origin = option.empty() ? kVariable : "option 'nodes'";
  const NodeSet nodes = parse_nodes(option.empty() ? variable : option, origin);
  for (const uint32_t node : nodes)
    if (read_node_memory({node}).total_bytes == 0)
      throw Error(BP_E_NO_HARDWARE, origin + " names NUMA node " + std::to_string(node) + ", which has no memory here");
  return nodes;
}

void require_hardware(bool nodes_are_named) {
  const int found = hbw_check_available();
  if (found == 0) return;
  const std::string reason = "memkind finds no high-bandwidth memory (" + error_text(found) + ")";
  throw Error(BP_E_NO_HARDWARE,
              reason + (nodes_are_named ? "; it keeps the nodes that it found when this process first used it: start "
                                          "the program anew to have others"
                                        : kWhatToSet),
              found);
}

void require_policy(Policy policy) {
  const int refused = hbw_set_policy(hbw_policy(policy));
  if (refused == 0) return;  // the one in force may be set again
  throw Error(BP_E_STATE,
              std::string("policy '") + policy_text(policy) + "' is wanted, and memkind works with '" +
                  hbw_policy_text(hbw_get_policy()) +
                  "' in this process already; a process can have one only: start the program anew to have the other",
              refused);
}

// The nodes that the kernel is told to take the page's memory from.
NodeSet nodes_of(std::byte* page) {
  constexpr size_t kBits = 8 * sizeof(unsigned long);
  unsigned long mask[kMaxNodes / kBits] = {};
  int mode = 0;
  if (syscall(SYS_get_mempolicy, &mode, mask, static_cast<unsigned long>(kMaxNodes), page,
              static_cast<unsigned long>(MPOL_F_ADDR)) != 0)
    throw Error(BP_E_NO_HARDWARE,
                "the system does not tell on which NUMA nodes memory is (get_mempolicy: " + error_text(errno) + ")",
                errno);
  NodeSet nodes;
  for (uint32_t node = 0; node < kMaxNodes; ++node)
    if ((mask[node / kBits] >> node % kBits & 1) != 0) nodes.push_back(node);
  return nodes;
}

struct OverlayEnd {
  std::optional<EnvironmentOverlay>& overlay;
  ~OverlayEnd() {
    if (overlay) overlay->end();
  }
};

bool fits(const NodeSet& found, const NodeSet& wanted, Policy policy) {
  if (policy != Policy::preferred) return found == wanted;
  return std::includes(wanted.begin(), wanted.end(), found.begin(), found.end());
}

}  // namespace

HbwHeap::HbwHeap(Policy policy, const std::string& nodes) {
  // The environment and memkind's first use are the process', and so is their order.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const std::optional<NodeSet> wanted = wanted_nodes(nodes);
  const OverlayEnd end{overlay_};  // before the lock is, whatever happens
  if (!nodes.empty()) overlay_.emplace(kVariable, nodes_text(*wanted));
  require_hardware(wanted.has_value());
  require_policy(policy);
  nodes_ = try_page(policy);
  if (wanted && !fits(nodes_, *wanted, policy))
    throw Error(BP_E_STATE, "nodes " + nodes_text(*wanted) + " are wanted, and memkind works with " +
                                nodes_text(nodes_) +
                                " in this process already: start the program anew to have the others");
}

// memkind has a heap for each policy, which looks for its nodes when it is first used; verifying uses one more.
NodeSet HbwHeap::try_page(Policy policy) {
  const uint64_t bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  int reason = 0;
  const auto give_back = [this](std::byte* block) { release(block); };
  const std::unique_ptr<std::byte, decltype(give_back)> page(allocate(bytes, bytes, reason), give_back);
  if (page == nullptr)
    throw Error(BP_E_NO_HARDWARE,
                std::string("memkind gives no page of high-bandwidth memory with policy '") + policy_text(policy) +
                    "' (" + error_text(reason) + ")" + kWhatToSet,
                reason);
  if (hbw_verify_memory_region(page.get(), bytes, HBW_TOUCH_PAGES) != 0 && policy != Policy::preferred)
    throw Error(BP_E_NO_HARDWARE, "what memkind gives does not lie in high-bandwidth memory");
  return nodes_of(page.get());
}

std::byte* HbwHeap::allocate(uint64_t bytes, uint64_t alignment, int& reason) {
  void* block = nullptr;
  reason = hbw_posix_memalign(&block, alignment, bytes);
  return reason == 0 ? static_cast<std::byte*>(block) : nullptr;
}

void HbwHeap::release(std::byte* block) noexcept { hbw_free(block); }

}  // namespace backplane_cpu_hbm
