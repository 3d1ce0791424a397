#include "scheduler/memory/fit_orders.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

namespace backplane {
namespace {

struct Ranked {
  uint64_t key, tie;
  uint32_t block;

  bool operator<(const Ranked& other) const {
    return std::tie(other.key, other.tie, block) < std::tie(key, tie, other.block);
  }
};

uint64_t area(const LiveBytes::Block& block) {
  uint64_t product = 0;
  return __builtin_mul_overflow(block.bytes, uint64_t{block.length()}, &product) ? UINT64_MAX : product;
}

std::vector<Ranked> rank(const LiveBytes& live, FitOrder order) {
  const std::vector<LiveBytes::Block>& blocks = live.blocks();
  const std::vector<uint64_t> most = order == FitOrder::contention ? live.most_by_block() : std::vector<uint64_t>();
  std::vector<Ranked> ranked(blocks.size());
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    switch (order) {
      case FitOrder::area:
        ranked[i] = {area(blocks[i]), 0, i};
        break;
      case FitOrder::contention:
        ranked[i] = {most[i], blocks[i].bytes, i};
        break;
      case FitOrder::size:
        ranked[i] = {blocks[i].bytes, blocks[i].length(), i};
        break;
      case FitOrder::size_class:
        ranked[i] = {static_cast<uint64_t>(std::bit_width(blocks[i].bytes)), blocks[i].length(), i};
        break;
      case FitOrder::length:
        ranked[i] = {blocks[i].length(), blocks[i].bytes, i};
        break;
    }
  }
  return ranked;
}

}  // namespace

std::string_view fit_order_name(FitOrder order) {
  constexpr std::string_view kNames[] = {"contention", "area", "size", "size class", "length"};
  return kNames[static_cast<size_t>(order)];
}

std::vector<uint32_t> make_fit_order(const LiveBytes& live, FitOrder order) {
  std::vector<Ranked> ranked = rank(live, order);
  std::ranges::sort(ranked, std::less<>());
  std::vector<uint32_t> blocks(ranked.size());
  std::ranges::transform(ranked, blocks.begin(), &Ranked::block);
  return blocks;
}

}  // namespace backplane
