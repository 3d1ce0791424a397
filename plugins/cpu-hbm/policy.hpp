// Policy: where pages come to lie when high-bandwidth memory is short or has several nodes.
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace backplane_cpu_hbm {

enum class Policy {
  bind,       // on the nodes, the nearest first, and nowhere else
  preferred,  // on the nearest node, and in ordinary memory when that is full
  interleave  // page by page on all nodes in turn, and nowhere else
};

// Throws BP_E_INVALID_ARG.
Policy parse_policy(std::string_view text);
const char* policy_text(Policy policy);

}  // namespace backplane_cpu_hbm
