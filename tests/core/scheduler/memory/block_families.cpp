#include "block_families.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace backplane::testing {
namespace {

using Rng = std::mt19937_64;

uint32_t below(Rng& rng, uint64_t bound) { return static_cast<uint32_t>(rng() % bound); }

// Results of nodes that run one after another; each is alive until its last reader.
class Results {
 public:
  // Adds a node and returns its result. In place: it takes over the first operand if nobody reads that later.
  uint32_t add(uint64_t bytes, const std::vector<uint32_t>& operands, bool in_place = false) {
    const auto node = static_cast<uint32_t>(blocks_.size());
    for (const uint32_t operand : operands) blocks_[operand].last = node;
    blocks_.push_back({node, node, bytes});
    takes_over_.push_back(in_place ? operands.front() : node);
    return node;
  }

  BlockFamily finish(std::string name) {
    std::vector<uint32_t> owner(blocks_.size());
    BlockFamily family{std::move(name), {}};
    for (uint32_t node = 0; node < blocks_.size(); ++node) {
      const uint32_t operand = takes_over_[node];
      if (operand != node && blocks_[operand].last == node) {
        owner[node] = owner[operand];
        MemoryBlock& chain = family.blocks[owner[node]];
        chain.last = blocks_[node].last;
        chain.bytes = std::max(chain.bytes, blocks_[node].bytes);
      } else {
        owner[node] = static_cast<uint32_t>(family.blocks.size());
        family.blocks.push_back(blocks_[node]);
      }
    }
    return family;
  }

 private:
  std::vector<MemoryBlock> blocks_;
  std::vector<uint32_t> takes_over_;
};

uint64_t random_bytes(Rng& rng) {
  return static_cast<uint64_t>(std::exp2(8.0 + 14.0 * static_cast<double>(below(rng, 1024)) / 1024.0));
}

// One cell: five sums of two separable convolutions (each three results), then a concatenation of the sums.
uint32_t add_cell(Results& results, Rng& rng, uint32_t before, uint32_t last, uint64_t bytes) {
  std::vector<uint32_t> hidden = {results.add(bytes, {before}), results.add(bytes, {last})}, sums;
  for (int i = 0; i < 5; ++i) {
    std::vector<uint32_t> branches;
    for (int branch = 0; branch < 2; ++branch) {
      uint32_t at = hidden[below(rng, hidden.size())];
      for (int step = 0; step < 3; ++step) at = results.add(bytes, {at});
      branches.push_back(at);
    }
    sums.push_back(results.add(bytes, branches));
    hidden.push_back(sums.back());
  }
  return results.add(5 * bytes, sums);
}

// Two convolutions with what comes before each, attention, and the sums with what they started from.
uint32_t add_residual_block(Results& results, std::vector<uint32_t> operands, uint64_t bytes) {
  const auto chain = [&](uint32_t at, int length) {
    for (int i = 0; i < length; ++i) at = results.add(bytes, {at});
    return at;
  };
  const uint32_t start = results.add(bytes, operands);
  const uint32_t sum = results.add(bytes, {chain(start, 7), start});
  const uint32_t norm = results.add(bytes, {sum});
  const uint32_t q = results.add(bytes, {norm}), k = results.add(bytes, {norm}), v = results.add(bytes, {norm});
  const uint32_t weights = results.add(2 * bytes, {results.add(2 * bytes, {q, k})});
  return results.add(bytes, {chain(results.add(bytes, {weights, v}), 1), sum});
}

uint32_t add_unet(Results& results, uint32_t x, uint32_t levels, uint32_t blocks) {
  uint64_t bytes = uint64_t{64} << 20;
  std::vector<uint32_t> skips;
  for (uint32_t level = 0; level < levels; ++level, bytes /= 2) {
    for (uint32_t i = 0; i < blocks; ++i) skips.push_back(x = add_residual_block(results, {x}, bytes));
    x = results.add(bytes / 2, {x});
  }
  x = add_residual_block(results, {x}, bytes);
  for (uint32_t level = 0; level < levels; ++level) {
    bytes *= 2;
    x = results.add(bytes, {x});
    for (uint32_t i = 0; i < blocks; ++i, skips.pop_back())
      x = add_residual_block(results, {results.add(2 * bytes, {x, skips.back()})}, bytes);
  }
  return x;
}

}  // namespace

BlockFamily make_transformer_blocks(uint32_t layers, uint64_t tokens, bool in_place) {
  constexpr uint64_t kWidth = 1024, kHeads = 16, kFloat = 4, kContext = 512;
  const uint64_t row = tokens * kWidth * kFloat, scores = kHeads * tokens * std::max(tokens, kContext) * kFloat;
  Results results;
  uint32_t x = results.add(row, {});
  for (uint32_t layer = 0; layer < layers; ++layer) {
    const uint32_t norm = results.add(row, {x});
    const uint32_t scaled = results.add(row, {norm}, in_place);
    const uint32_t q = results.add(row, {scaled}), k = results.add(row, {scaled}), v = results.add(row, {scaled});
    const uint32_t q_turned = results.add(row, {q}, in_place), k_turned = results.add(row, {k}, in_place);
    const uint32_t dots = results.add(scores, {q_turned, k_turned});
    const uint32_t weights = results.add(scores, {results.add(scores, {dots}, in_place)}, in_place);
    const uint32_t heads = results.add(row, {weights, v});
    const uint32_t attention = results.add(row, {results.add(row, {heads})});
    const uint32_t middle = results.add(row, {attention, x}, in_place);
    const uint32_t scaled_again = results.add(row, {results.add(row, {middle})}, in_place);
    const uint32_t gate = results.add(4 * row, {scaled_again}), up = results.add(4 * row, {scaled_again});
    const uint32_t gated = results.add(4 * row, {results.add(4 * row, {gate}, in_place), up}, in_place);
    x = results.add(row, {results.add(row, {gated}), middle}, in_place);
  }
  return results.finish("transformer, " + std::to_string(tokens) + (tokens == 1 ? " token" : " tokens") +
                        (in_place ? ", in place" : ""));
}

BlockFamily make_unet_blocks(uint32_t steps) {
  constexpr uint32_t kLevels = 4, kBlocks = 3;  // residual blocks of each level
  Results results;
  uint32_t x = results.add(uint64_t{1} << 20, {});
  for (uint32_t step = 0; step < steps; ++step) x = add_unet(results, x, kLevels, kBlocks);
  return results.finish("U-Net");
}

BlockFamily make_densenet_blocks(uint32_t stages, uint32_t layers_per_stage) {
  Results results;
  uint64_t pixels = uint64_t{56} * 56 * 4;
  uint64_t channels = 64;
  uint32_t x = results.add(pixels * channels, {});
  for (uint32_t stage = 0; stage < stages; ++stage, pixels = std::max<uint64_t>(pixels / 4, 196), channels = 64) {
    for (uint32_t layer = 0; layer < layers_per_stage; ++layer) {
      const uint32_t norm = results.add(pixels * channels, {x});
      const uint32_t narrow = results.add(pixels * 128, {results.add(pixels * channels, {norm})});
      const uint32_t fresh = results.add(pixels * 32, {results.add(pixels * 128, {narrow})});
      channels += 32;
      x = results.add(pixels * channels, {x, fresh});
    }
    x = results.add(pixels * 64 / 4, {results.add(pixels * 64, {x})});
  }
  return results.finish("DenseNet");
}

BlockFamily make_cell_blocks(uint32_t cells, uint64_t seed) {
  Rng rng(seed);
  Results results;
  uint64_t bytes = uint64_t{4} << 20;
  uint32_t before = results.add(bytes, {}), last = results.add(bytes, {before});
  for (uint32_t cell = 0; cell < cells; ++cell) {
    if (cell % (cells / 3 + 1) == cells / 3) bytes /= 2;
    const uint32_t next = add_cell(results, rng, before, last, bytes);
    before = last;
    last = next;
  }
  return results.finish("NAS cells");
}

BlockFamily make_backward_blocks(uint32_t nodes, uint64_t seed) {
  Rng rng(seed);
  Results results;
  std::vector<uint32_t> forward = {results.add(random_bytes(rng), {})};
  std::vector<uint64_t> sizes = {random_bytes(rng)};
  for (uint32_t i = 1; i < nodes / 2; ++i) {
    const uint32_t reach = std::min<uint32_t>(i, 1 + below(rng, 4));
    sizes.push_back(random_bytes(rng));
    forward.push_back(results.add(sizes.back(), {forward[i - reach], forward[i - 1]}));
  }
  uint32_t gradient = results.add(sizes.back(), {forward.back()});
  for (uint32_t i = nodes / 2; i-- > 0;) {
    const bool needed = below(rng, 10) < 6;  // some derivatives need no value of the forward half
    gradient = needed ? results.add(sizes[i], {gradient, forward[i]}) : results.add(sizes[i], {gradient});
  }
  return results.finish("backward");
}

BlockFamily make_random_blocks(uint32_t nodes, uint32_t window, uint32_t long_share, uint64_t seed) {
  Rng rng(seed);
  Results results;
  for (uint32_t node = 0; node < nodes; ++node) {
    std::vector<uint32_t> operands;
    const uint32_t wanted = 1 + below(rng, 3);
    for (uint32_t i = 0; i < wanted && node != 0; ++i) {
      const bool is_long = long_share != 0 && below(rng, long_share) == 0;
      operands.push_back(is_long ? below(rng, node) : node - 1 - below(rng, std::min(node, window)));
    }
    results.add(random_bytes(rng), operands);
  }
  return results.finish("random, window " + std::to_string(window) + (long_share == 0 ? "" : ", some long"));
}

std::vector<BlockFamily> make_block_families() {
  return {make_transformer_blocks(48, 512, false),
          make_transformer_blocks(48, 512, true),
          make_transformer_blocks(48, 1, false),
          make_unet_blocks(2),
          make_densenet_blocks(4, 45),
          make_cell_blocks(27, 1),
          make_backward_blocks(1000, 1),
          make_random_blocks(1000, 20, 0, 1),
          make_random_blocks(1000, 100, 10, 1)};
}

}  // namespace backplane::testing
