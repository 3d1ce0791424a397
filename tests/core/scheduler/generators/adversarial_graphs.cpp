#include "adversarial_graphs.hpp"

#include <algorithm>

#include "graph_maker.hpp"

namespace backplane::testing {
namespace {

// A node of the fixed DAG of `permuted`, which reads two earlier ones.
struct Edge {
  size_t a, b;
};

GeneratedGraph permuted(uint64_t seed, int size) {
  const auto count = static_cast<size_t>(std::max(1, size));
  GraphMaker fixed(static_cast<uint64_t>(size)), make(seed);
  std::vector<Edge> edges;
  for (size_t i = 0; i < count; ++i)
    edges.push_back({static_cast<size_t>(fixed.pick(0, static_cast<int64_t>(i))),
                     static_cast<size_t>(fixed.pick(0, static_cast<int64_t>(i)))});
  // tensors[0] is the input; node i makes tensors[i + 1].
  std::vector<TensorId> tensors(count + 1, kNone);
  tensors[0] = make.input({4, 4});
  for (size_t made = 0; made < count;) {
    const auto i = static_cast<size_t>(make.pick(0, static_cast<int64_t>(count) - 1));
    const TensorId a = tensors[edges[i].a], b = tensors[edges[i].b];
    if (tensors[i + 1] != kNone || a == kNone || b == kNone) continue;
    tensors[i + 1] = make.op(i % 3 == 0 ? Op::kBITWISE_XOR : Op::kSUB, {a, b}, {}, "n" + std::to_string(i));
    ++made;
  }
  for (const TensorId tensor : tensors) make.output(tensor);
  return make.finish();
}

// Two tensors live at a time, each larger than the last: what is freed never fits what comes.
GeneratedGraph fibonacci(uint64_t seed, int size) {
  GraphMaker make(seed);
  int64_t smaller = 1, larger = 1;
  TensorId old = make.input({1, 1}), x = make.op(Op::kNEG, {old});
  for (int i = 0; i < std::max(1, size); ++i) {
    smaller = std::exchange(larger, larger + smaller);
    if (larger > 2000) smaller = larger = 1;
    const TensorId next = make.op(Op::kSUB, {make.fit(x, {1, larger}), make.fit(old, {1, larger})});
    old = std::exchange(x, next);
  }
  make.output(x);
  return make.finish();
}

// Tensors made in a row, every second read at once: the memory between those that stay is in pieces.
GeneratedGraph comb(uint64_t seed, int size) {
  GraphMaker make(seed);
  const TensorId input = make.input({1, 64});
  std::vector<TensorId> kept;
  TensorId sum = make.op(Op::kNEG, {input});
  for (int i = 0; i < std::max(1, size / 3); ++i) {
    const TensorId stays = make.op(Op::kABS, {make.fit(input, {1, make.pick(1, 64)})});
    const TensorId goes = make.op(Op::kNEG, {make.fit(input, {1, make.pick(1, 64)})});
    sum = make.op(Op::kSUB, {sum, make.fit(goes, {1, 64})});
    kept.push_back(make.fit(stays, {1, 64}));
  }
  kept.push_back(sum);
  make.output(make.reduce(make.concat(kept, 0), 0));
  return make.finish();
}

GeneratedGraph many_inputs(uint64_t seed, int size) {
  GraphMaker make(seed);
  std::vector<TensorId> parts;
  for (int i = 0; i < std::max(1, size); ++i) {
    const TensorId part = i % 3 == 0 ? make.weight({1, 2}) : make.input({1, 2});
    parts.push_back(i % 2 == 0 ? part : make.op(Op::kNEG, {part}));
  }
  make.output(make.concat(parts, 0));
  return make.finish();
}

GeneratedGraph deep(uint64_t seed, int size) {
  GraphMaker make(seed);
  TensorId x = make.input({1, 1});
  const TensorId odd = make.weight({1, 1});
  for (int i = 0; i < std::max(1, size); ++i) x = make.op(i % 2 == 0 ? Op::kMUL : Op::kSUB, {x, odd});
  make.output(x);
  return make.finish();
}

}  // namespace

const std::vector<GraphFamily>& adversarial_families() {
  static const std::vector<GraphFamily> families{
      {"permuted", permuted}, {"fibonacci", fibonacci}, {"comb", comb}, {"many_inputs", many_inputs}, {"deep", deep}};
  return families;
}

}  // namespace backplane::testing
