#include "network_graphs.hpp"

#include "graph_maker.hpp"

namespace backplane::testing {
namespace {

TensorId linear(GraphMaker& make, TensorId x, int64_t width) {
  return make.op(Op::kMATMUL, {x, make.weight({make.shape(x)[1], width})});
}

// Weighted columns, less the row's sum: what a norm does to the graph.
TensorId norm(GraphMaker& make, TensorId x) {
  const Shape shape = make.shape(x);
  const TensorId centred = make.op(Op::kSUB, {x, make.broadcast(make.reduce(x, 1), shape)});
  return make.op(Op::kMUL, {centred, make.broadcast(make.weight({1, shape[1]}), shape)});
}

// Attention over a cache: q, k and v are views of one tensor; k and v go into rows of two states, which are then read.
TensorId attention(GraphMaker& make, TensorId x, int64_t cache_rows) {
  const int64_t tokens = make.shape(x)[0], width = make.shape(x)[1];
  const TensorId qkv = linear(make, x, 3 * width);
  const TensorId keys = make.state({cache_rows, width}), values = make.state({cache_rows, width});
  make.store(make.slice(keys, 0, 0, tokens), Op::kCOPY, {make.slice(qkv, 1, width, width)});
  make.store(make.slice(values, 0, 0, tokens), Op::kCOPY, {make.slice(qkv, 1, 2 * width, width)});
  const TensorId scores = make.op(Op::kMATMUL, {make.slice(qkv, 1, 0, width), make.transpose(keys)});
  return linear(make, make.op(Op::kMATMUL, {scores, values}), width);
}

GeneratedGraph transformer(uint64_t seed, int size) {
  GraphMaker make(seed);
  const int64_t tokens = make.pick(1, 6), width = 4 * make.pick(1, 4);
  TensorId x = make.input({tokens, width});
  for (int layer = 0; layer < std::max(1, size / 17); ++layer) {
    x = make.op(Op::kADD, {x, attention(make, norm(make, x), tokens + 2)});
    const TensorId hidden = make.op(Op::kRELU, {linear(make, norm(make, x), 2 * width)});
    x = make.op(Op::kADD, {x, linear(make, hidden, width)});
  }
  make.output(linear(make, norm(make, x), 3 * width));
  return make.finish();
}

// Each token's row goes through the expert that an index picks: the gathered weights are as large as all tokens'.
GeneratedGraph moe(uint64_t seed, int size) {
  GraphMaker make(seed);
  const int64_t tokens = make.pick(1, 5), width = make.pick(2, 6), experts = make.pick(2, 6);
  TensorId x = make.input({tokens, width});
  for (int layer = 0; layer < std::max(1, size / 6); ++layer) {
    const TensorId table = make.weight({experts, width * width});
    const TensorId chosen = make.reshape(make.gather(table, make.indices(tokens, experts)), {tokens, width, width});
    const TensorId mixed = make.op(Op::kMATMUL, {make.reshape(norm(make, x), {tokens, 1, width}), chosen});
    x = make.op(Op::kADD, {x, make.reshape(mixed, {tokens, width})});
  }
  make.output(x);
  return make.finish();
}

// Down by slices, up by concatenation, each level joined with what the way down left.
GeneratedGraph unet(uint64_t seed, int size) {
  GraphMaker make(seed);
  const int levels = std::max(1, size / 8);
  TensorId x = make.input({make.pick(1, 4) << std::min(levels, 5), 4});
  std::vector<TensorId> skips;
  for (int level = 0; level < levels; ++level) {
    x = make.op(Op::kRELU, {linear(make, x, 4)});
    skips.push_back(x);
    const int64_t rows = make.shape(x)[0];
    if (rows > 1) x = make.op(Op::kADD, {make.slice(x, 0, 0, rows / 2, 2), make.slice(x, 0, 1, rows / 2, 2)});
  }
  for (; !skips.empty(); skips.pop_back()) {
    const TensorId up = make.shape(x)[0] == make.shape(skips.back())[0] ? x : make.concat({x, x}, 0);
    x = linear(make, make.concat({up, make.fit(skips.back(), make.shape(up))}, 1), 4);
  }
  make.output(x);
  return make.finish();
}

// Every layer reads all layers before it.
GeneratedGraph densenet(uint64_t seed, int size) {
  GraphMaker make(seed);
  std::vector<TensorId> layers{make.input({make.pick(1, 8), 4})};
  for (int layer = 0; layer < std::max(1, size / 3); ++layer) {
    const size_t first = layers.size() > 9 ? layers.size() - 9 : 0;
    const std::vector<TensorId> parts(layers.begin() + static_cast<std::ptrdiff_t>(first), layers.end());
    layers.push_back(make.op(Op::kNEG, {linear(make, parts.size() == 1 ? parts[0] : make.concat(parts, 1), 4)}));
  }
  make.output(layers.back());
  return make.finish();
}

// Cells of five branches over the outputs of the two cells before.
GeneratedGraph cells(uint64_t seed, int size) {
  GraphMaker make(seed);
  const Shape shape{make.pick(1, 16), make.pick(1, 8)};
  TensorId older = make.input(shape), old = make.input(shape);
  for (int cell = 0; cell < std::max(1, size / 12); ++cell) {
    std::vector<TensorId> states{older, old};
    for (int block = 0; block < 5; ++block)
      states.push_back(
          make.op(Op::kSUB, {make.op(Op::kNEG, {make.any(states)}), make.op(Op::kABS, {make.any(states)})}));
    older = old;
    old = make.op(Op::kBITWISE_XOR, {states.back(), states[states.size() - 2]});
  }
  make.output(old);
  return make.finish();
}

// Towers side by side, node for node in turn, joined at the end. Ops tell them apart for masks of devices.
GeneratedGraph towers(uint64_t seed, int size) {
  GraphMaker make(seed);
  constexpr Op kOps[] = {Op::kNEG, Op::kABS, Op::kRELU, Op::kCOPY};
  const auto count = static_cast<size_t>(make.pick(2, 8));
  const Shape shape{make.pick(1, 8), make.pick(1, 8)};
  std::vector<TensorId> tops(count, make.input(shape));
  for (int level = 0; level < std::max(1, size / static_cast<int>(count)); ++level)
    for (size_t tower = 0; tower < count; ++tower)
      tops[tower] = make.op(level % 2 == 0 ? Op::kADD : kOps[tower % 4],
                            level % 2 == 0 ? std::vector<TensorId>{tops[tower], make.fit(make.weight({1, 1}), shape)}
                                           : std::vector<TensorId>{tops[tower]},
                            {}, "tower" + std::to_string(tower) + "." + std::to_string(level));
  TensorId sum = tops[0];
  for (size_t tower = 1; tower < count; ++tower) sum = make.op(Op::kSUB, {sum, tops[tower]});
  make.output(sum);
  return make.finish();
}

GeneratedGraph alternating(uint64_t seed, int size) {
  GraphMaker make(seed);
  TensorId x = make.input({make.pick(1, 8), make.pick(1, 8)});
  for (int layer = 0; layer < std::max(1, size / 2); ++layer)
    x = make.op(Op::kRELU, {linear(make, x, make.pick(1, 8))});
  make.output(x);
  return make.finish();
}

GeneratedGraph chain(uint64_t seed, int size) {
  GraphMaker make(seed);
  const Shape shape{make.pick(1, 4), make.pick(1, 64)};
  TensorId x = make.input(shape);
  const TensorId first = x;
  for (int i = 0; i < std::max(1, size); ++i)
    x = make.chance(30) ? make.op(Op::kSUB, {first, x}) : make.op(i % 2 == 0 ? Op::kNEG : Op::kABS, {x});
  make.output(x);
  return make.finish();
}

// One producer, many consumers, one sum of all.
GeneratedGraph fan(uint64_t seed, int size) {
  GraphMaker make(seed);
  const Shape shape{make.pick(1, 8), make.pick(1, 8)};
  const TensorId root = make.op(Op::kNEG, {make.input(shape)});
  std::vector<TensorId> leaves;
  for (int i = 0; i < std::max(1, size - 2); ++i)
    leaves.push_back(make.op(i % 3 == 0 ? Op::kABS : Op::kRELU, {i % 2 == 0 ? root : make.transpose(root)}));
  for (TensorId& leaf : leaves) leaf = make.reshape(leaf, {1, shape[0] * shape[1]});
  make.output(make.reduce(make.concat(leaves, 0), 0));
  return make.finish();
}

}  // namespace

const std::vector<GraphFamily>& network_families() {
  static const std::vector<GraphFamily> families{{"transformer", transformer}, {"moe", moe},     {"unet", unet},
                                                 {"densenet", densenet},       {"cells", cells}, {"towers", towers},
                                                 {"alternating", alternating}, {"chain", chain}, {"fan", fan}};
  return families;
}

}  // namespace backplane::testing
