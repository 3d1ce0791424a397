#include "policy.hpp"

#include "backplane/sdk/error.hpp"

namespace backplane_cpu_hbm {

const char* policy_text(Policy policy) {
  switch (policy) {
    case Policy::preferred:
      return "preferred";
    case Policy::interleave:
      return "interleave";
    default:
      return "bind";
  }
}

Policy parse_policy(std::string_view text) {
  for (const Policy policy : {Policy::bind, Policy::preferred, Policy::interleave})
    if (text == policy_text(policy)) return policy;
  throw backplane::sdk::Error(BP_E_INVALID_ARG,
                              "option 'policy' is '" + std::string(text) + "'; wanted bind, preferred or interleave");
}

}  // namespace backplane_cpu_hbm
