#include "scheduler/placement/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "graph_families.hpp"

namespace backplane {
namespace {

using testing::CasePlacer;
using testing::make_random_case;
using testing::make_towers;
using testing::PlacedCase;
using testing::placement_family;
using testing::PlacementCase;

const PlacementCase& find_case(const std::string& name) {
  static const std::vector<PlacementCase> cases = placement_family();
  return *std::ranges::find(cases, name, &PlacementCase::name);
}

void expect_no_more(const PlacedCase& best, const PlacedCase& greedy) {
  EXPECT_LE(best.cut.splits.size(), greedy.cut.splits.size());
  EXPECT_LE(best.cut.copies.size(), greedy.cut.copies.size());
  EXPECT_LE(best.cut.copy_bytes(), greedy.cut.copy_bytes());
  EXPECT_LE(best.ns, greedy.ns);
}

// Each node once, on a device that runs it, after what it reads.
void expect_valid(const CasePlacer& placer, const PlacementResult& placement) {
  const Graph& graph = *placer.placement_case().graph;
  std::vector<uint32_t> place(graph.node_count(), kNone);
  ASSERT_EQ(placement.order.size(), graph.node_count());
  for (uint32_t at = 0; at < placement.order.size(); ++at) {
    const NodeId node = placement.order[at];
    ASSERT_EQ(place[node], kNone);
    place[node] = at;
    ASSERT_TRUE(placer.capability().runs(node, placement.placements[node].device));
    ASSERT_EQ(placement.placements[node].verdict, BP_VERDICT_YES);
    for (const TensorId input : graph.node_inputs(node)) {
      const NodeId writer = graph.storage(graph.storage_of(input)).writer;
      if (writer != kNone) {
        ASSERT_LT(place[writer], at);
      }
    }
  }
}

auto key(const Placement& placement) {
  return std::tuple(placement.device, placement.cause, placement.verdict, placement.because, placement.runner_up,
                    placement.saved_ns);
}

TEST(Placement, NeverMoreThanGreedy) {
  for (uint64_t seed = 1; seed <= 40; ++seed)
    for (uint32_t device_count = 1; device_count <= 5; ++device_count) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " on " + std::to_string(device_count) + " devices");
      CasePlacer placer(make_random_case({.seed = seed,
                                          .order_seed = seed % 2,
                                          .node_count = 20 + 4 * static_cast<uint32_t>(seed),
                                          .device_count = device_count,
                                          .fixed_percent = 10 * static_cast<uint32_t>(seed % 8)}));
      const PlacedCase best = placer.place(PlacementMode::mincomm);
      expect_no_more(best, placer.place(PlacementMode::greedy));
      expect_valid(placer, best.placement);
      if (HasFatalFailure()) return;
    }
}

TEST(Placement, NeverMoreThanGreedyOnTheFamily) {
  for (const PlacementCase& placement_case : placement_family()) {
    SCOPED_TRACE(placement_case.name);
    CasePlacer placer(placement_case);
    const PlacedCase best = placer.place(PlacementMode::mincomm);
    expect_no_more(best, placer.place(PlacementMode::greedy));
    expect_valid(placer, best.placement);
  }
}

TEST(Placement, EqualQuestionsGetEqualAnswers) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const auto random = make_random_case({.seed = seed, .node_count = 300, .device_count = 4});
    const PlacedCase first = CasePlacer(random).place(PlacementMode::mincomm);
    const PlacedCase second = CasePlacer(random).place(PlacementMode::mincomm);
    ASSERT_EQ(first.placement.order, second.placement.order);
    for (NodeId node = 0; node < random.graph->node_count(); ++node)
      ASSERT_EQ(key(first.placement.placements[node]), key(second.placement.placements[node]));
  }
}

struct Figures {
  size_t splits, copies;
  uint64_t kib;
  bool operator==(const Figures&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Figures& figures) {
  return out << figures.splits << '/' << figures.copies << '/' << figures.kib;
}

Figures figures(const std::string& name, PlacementMode mode) {
  const PlacedCase placed = CasePlacer(find_case(name)).place(mode);
  return {placed.cut.splits.size(), placed.cut.copies.size(), placed.cut.copy_bytes() / 1024};
}

// What ggml's scheduler does on the same graphs, and what is best.
TEST(Placement, Transformers) {
  const auto greedy = [](const std::string& name) { return figures(name, PlacementMode::greedy); };
  const auto best = [](const std::string& name) { return figures(name, PlacementMode::mincomm); };
  EXPECT_EQ(greedy("LLM on one device"), (Figures{2, 3, 272}));
  EXPECT_EQ(best("LLM on one device"), (Figures{2, 3, 272}));
  EXPECT_EQ(greedy("LLM, last 8 layers on the host"), (Figures{4, 7, 1296}));
  EXPECT_EQ(best("LLM, last 8 layers on the host"), (Figures{4, 5, 784}));
  EXPECT_EQ(greedy("LLM over 4 devices"), (Figures{5, 15, 1857}));
  EXPECT_EQ(best("LLM over 4 devices"), (Figures{5, 12, 1089}));
  EXPECT_EQ(best("LLM, FFN on the host"), (Figures{66, 67, 16656}));
  EXPECT_EQ(best("LLM, softmax on the host"), (Figures{66, 66, 4352}));
  EXPECT_EQ(best("LLM, attention and FFN on 2 devices"), (Figures{66, 67, 16656}));
  EXPECT_EQ(greedy("LLM, biases on the host, hard"), (Figures{66, 67, 16656}));
  EXPECT_EQ(best("LLM, biases on the host, soft").splits, 2u);
}

TEST(Placement, TowersTakeOneSplitEach) {
  EXPECT_EQ(figures("2 towers on 2 devices", PlacementMode::mincomm).splits, 2u);
  EXPECT_EQ(figures("4 towers on 4 devices", PlacementMode::mincomm).splits, 4u);
  EXPECT_EQ(figures("8 towers on 4 devices", PlacementMode::greedy).splits, 256u);
  EXPECT_EQ(figures("8 towers on 4 devices", PlacementMode::mincomm).splits, 4u);
}

TEST(Placement, TheOrderOfTheListDoesNotMatterMuch) {
  for (uint64_t seed = 1; seed <= 8; ++seed)
    EXPECT_LE(CasePlacer(make_towers(8, 4, seed)).place(PlacementMode::mincomm).cut.splits.size(), 5u) << seed;
}

TEST(Placement, MovesExplainThemselves) {
  CasePlacer placer(find_case("LLM over 4 devices"));
  const PlacementResult greedy = placer.place_only(PlacementMode::greedy);
  const PlacementResult best = placer.place_only(PlacementMode::mincomm);
  int moved = 0;
  for (NodeId node = 0; node < greedy.placements.size(); ++node) {
    const Placement& placement = best.placements[node];
    if (placement.device == greedy.placements[node].device) {
      EXPECT_EQ(placement.cause, greedy.placements[node].cause);
      continue;
    }
    ++moved;
    EXPECT_EQ(placement.cause, Cause::min_cut);
    ASSERT_NE(placement.because, kNone);
    EXPECT_EQ(best.placements[placement.because].device, placement.device);
    ASSERT_NE(placement.runner_up, kNone);
    EXPECT_NE(placement.runner_up, placement.device);
    EXPECT_GE(placement.saved_ns, 0);
  }
  EXPECT_GT(moved, 0);
}

TEST(Placement, WatchedNodesStayInTheOrderOfTheList) {
  PlacementCase towers = make_towers(2, 2);
  towers.options.cuts = {0};
  CasePlacer placer(towers);
  EXPECT_TRUE(std::ranges::is_sorted(placer.place_only(PlacementMode::mincomm).order));
  towers.options = make_towers(2, 2).options;
  towers.options.reorder_window = 0;
  CasePlacer without(towers);
  EXPECT_TRUE(std::ranges::is_sorted(without.place_only(PlacementMode::mincomm).order));
}

TEST(Placement, APlanThatIsMostlyPinnedIsLeftAlone) {
  PlacementCase towers = make_towers(2, 2);
  for (NodeId node = 0; node < towers.graph->node_count() * 2 / 3; ++node)
    towers.options.pins.emplace_back(std::to_string(node), node % 2);
  CasePlacer placer(towers);
  const PlacementResult best = placer.place_only(PlacementMode::mincomm);
  EXPECT_TRUE(std::ranges::is_sorted(best.order));
  for (NodeId node = 0; node < towers.graph->node_count() * 2 / 3; ++node)
    EXPECT_EQ(best.placements[node].device, node % 2);
}

}  // namespace
}  // namespace backplane
