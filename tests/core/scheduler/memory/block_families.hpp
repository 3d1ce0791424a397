// Memory blocks as networks of several kinds have them: what the memory planner is measured and tested on.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/memory/memory_planner.hpp"

namespace backplane::testing {

struct BlockFamily {
  std::string name;
  std::vector<MemoryBlock> blocks;
};

// `layers` of a decoder over `tokens` tokens; 20 results each. In place: elementwise results take over their operand.
BlockFamily make_transformer_blocks(uint32_t layers, uint64_t tokens, bool in_place);
// Steps of denoising, each down and up again with results of each level kept for the way up; 640 results each.
BlockFamily make_unet_blocks(uint32_t steps);
// Every layer reads all layers of its stage before it, through concatenations that grow.
BlockFamily make_densenet_blocks(uint32_t stages, uint32_t layers_per_stage);
// Cells of separable convolutions that read the two cells before, wired at random.
BlockFamily make_cell_blocks(uint32_t cells, uint64_t seed);
// Forward, then backward: results of the forward half are kept for their gradients, in the opposite order.
BlockFamily make_backward_blocks(uint32_t nodes, uint64_t seed);
// Nodes that read one to three results, of random sizes, of the `window` nodes before; one in `long_share` is read from
// anywhere before (0 = none).
BlockFamily make_random_blocks(uint32_t nodes, uint32_t window, uint32_t long_share, uint64_t seed);

// One of each kind, of about a thousand blocks.
std::vector<BlockFamily> make_block_families();

}  // namespace backplane::testing
