// NodeSet: NUMA nodes by number, written as memkind's variable and the option `nodes` write them: "0,2-3".
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace backplane_cpu_hbm {

using NodeSet = std::vector<uint32_t>;  // ascending, without repetition

inline constexpr uint32_t kMaxNodes = 1024;  // as many as Linux can have

// Throws BP_E_INVALID_ARG, naming `origin`, where the text came from.
NodeSet parse_nodes(std::string_view text, const std::string& origin);
// The shortest text that parse_nodes reads as these nodes.
std::string nodes_text(const NodeSet& nodes);

}  // namespace backplane_cpu_hbm
