#include "node_set.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "backplane/sdk/error.hpp"

namespace backplane_cpu_hbm {
namespace {

std::optional<uint32_t> parse_node(std::string_view text) {
  uint32_t node = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), node);
  if (error != std::errc() || end != text.data() + text.size() || node >= kMaxNodes) return std::nullopt;
  return node;
}

// Adds "2" or "2-3"; false if it is neither.
bool add_range(std::string_view text, NodeSet& nodes) {
  const size_t dash = text.find('-');
  const auto first = parse_node(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_node(text.substr(dash + 1));
  if (!first || !last || *first > *last) return false;
  for (uint32_t node = *first; node <= *last; ++node) nodes.push_back(node);
  return true;
}

}  // namespace

NodeSet parse_nodes(std::string_view text, const std::string& origin) {
  NodeSet nodes;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (!add_range(text.substr(begin, end - begin), nodes))
      throw backplane::sdk::Error(BP_E_INVALID_ARG, origin + " is '" + std::string(text) +
                                                        "'; wanted numbers of NUMA nodes below " +
                                                        std::to_string(kMaxNodes) + ", such as 0 or 0,2-3");
    begin = end + 1;
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

std::string nodes_text(const NodeSet& nodes) {
  std::string text;
  for (size_t i = 0; i < nodes.size();) {
    size_t last = i;
    while (last + 1 < nodes.size() && nodes[last + 1] == nodes[last] + 1) ++last;
    text += (i == 0 ? "" : ",") + std::to_string(nodes[i]);
    if (last != i) text += "-" + std::to_string(nodes[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace backplane_cpu_hbm
