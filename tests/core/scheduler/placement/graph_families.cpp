#include "graph_families.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <unordered_map>
#include <utility>

#include "backplane/graph/builder.hpp"
#include "scheduler/placement/costs.hpp"

namespace backplane::testing {
namespace {

using Rng = std::mt19937_64;

constexpr int64_t kTokens = 64;
constexpr int64_t kWidth = 1024;
constexpr int64_t kHeads = 4;
constexpr int64_t kVocabulary = 256;

// Builds a graph of f32 tensors, and says where its weights are.
class CaseBuilder {
 public:
  TensorId input(std::string name, std::vector<int64_t> shape, DType dtype = DType::kF32) {
    return builder_.input(std::move(name), dtype, shape).value();
  }
  // Weights of one shape share their zeros.
  TensorId weight(std::string name, uint32_t device, const std::vector<int64_t>& shape) {
    options_.locations.emplace_back(name, device);
    auto known = std::ranges::find(zeros_, shape, &HostTensor::shape);
    if (known == zeros_.end()) known = zeros_.insert(zeros_.end(), HostTensor::zeros(DType::kF32, shape).value());
    return builder_.constant(*known, std::move(name)).value();
  }
  TensorId state(std::string name, uint32_t device, const std::vector<int64_t>& shape) {
    options_.locations.emplace_back(name, device);
    return builder_.state(std::move(name), DType::kF32, shape).value();
  }
  TensorId node(Op op, std::initializer_list<TensorId> inputs, const AttrList& attrs = {}) {
    return builder_.op(op, inputs, attrs).value();
  }
  GraphBuilder& views() { return builder_; }

  PlacementCase finish(std::string name, TensorId output, uint32_t device_count) {
    if (!builder_.output(output, "output").ok()) std::abort();
    return {std::move(name), builder_.finish().value(), device_count, std::move(options_), {}};
  }

 private:
  GraphBuilder builder_;
  PlanOptions options_;
  std::vector<HostTensor> zeros_;
};

class TransformerBuilder {
 public:
  explicit TransformerBuilder(const TransformerShape& shape) : shape_(shape), host_(shape.device_count - 1) {}

  PlacementCase build(std::string name) {
    const TensorId tokens = case_.input("tokens", {kTokens}, DType::kI32);
    mask_ = case_.input("mask", {kTokens, kTokens});
    positions_ = case_.input("positions", {kTokens, 1});
    const TensorId table = case_.weight("embedding", host_, {kVocabulary, kWidth});
    TensorId x = case_.node(Op::kGATHER, {table, tokens}, {{BP_ATTR_AXIS, int64_t{0}}});
    for (uint32_t layer = 0; layer < shape_.layers; ++layer) x = add_ffn(layer, add_attention(layer, x));
    const TensorId normal = norm("head", shape_.head_device, x);
    const TensorId head = case_.weight("head.w", shape_.head_device, {kWidth, kVocabulary});
    return case_.finish(std::move(name), case_.node(Op::kMATMUL, {normal, head}), shape_.device_count);
  }

 private:
  // Stands in for a normalisation and its weight.
  TensorId norm(const std::string& prefix, uint32_t device, TensorId x) {
    return case_.node(Op::kMUL, {case_.node(Op::kTANH, {x}), case_.weight(prefix + ".norm", device, {kWidth})});
  }
  TensorId linear(const std::string& name, uint32_t device, TensorId x) {
    return case_.node(Op::kMATMUL, {x, case_.weight(name, device, {kWidth, kWidth})});
  }
  TensorId heads(TensorId x, std::vector<int64_t> order) {
    const std::vector<int64_t> split = {kTokens, kHeads, kWidth / kHeads};
    return case_.views().permute(case_.views().reshape(x, split).value(), order).value();
  }
  TensorId cached(const std::string& name, uint32_t device, TensorId x) {
    return case_.views().node_into(case_.state(name, device, {kTokens, kWidth}), Op::kCOPY, std::array{x}).value();
  }

  TensorId add_attention(uint32_t layer, TensorId x) {
    const std::string prefix = std::to_string(layer);
    const uint32_t device = shape_.attention_device[layer];
    const TensorId normal = norm(prefix + ".attention", device, x);
    TensorId q = linear(prefix + ".q", device, normal);
    if (shape_.bias_device != kNone)
      q = case_.node(Op::kADD, {q, case_.weight(prefix + ".q.bias", shape_.bias_device, {kWidth})});
    q = case_.node(Op::kMUL, {q, positions_});
    TensorId k = case_.node(Op::kMUL, {linear(prefix + ".k", device, normal), positions_});
    k = cached(prefix + ".k.cache", device, k);
    const TensorId v = cached(prefix + ".v.cache", device, linear(prefix + ".v", device, normal));
    TensorId scores = case_.node(Op::kMATMUL, {heads(q, {1, 0, 2}), heads(k, {1, 2, 0})});
    scores = case_.node(Op::kADD, {scores, mask_});
    scores = case_.node(Op::kEXP, {scores});  // stands in for softmax
    const TensorId mixed = case_.node(Op::kMATMUL, {scores, heads(v, {1, 0, 2})});
    const TensorId rows = case_.views().permute(mixed, std::array<int64_t, 3>{1, 0, 2}).value();
    const TensorId flat = case_.views().reshape(rows, std::array{kTokens, kWidth}).value();
    return case_.node(Op::kADD, {x, linear(prefix + ".o", device, flat)});
  }

  TensorId add_ffn(uint32_t layer, TensorId x) {
    const std::string prefix = std::to_string(layer);
    const uint32_t device = shape_.ffn_device[layer];
    const TensorId normal = norm(prefix + ".ffn", device, x);
    const TensorId gate = case_.node(Op::kSIGMOID, {linear(prefix + ".gate", device, normal)});
    const TensorId up = case_.node(Op::kMUL, {gate, linear(prefix + ".up", device, normal)});
    return case_.node(Op::kADD, {x, linear(prefix + ".down", device, up)});
  }

  const TransformerShape& shape_;
  const uint32_t host_;
  CaseBuilder case_;
  TensorId mask_ = kNone, positions_ = kNone;
};

// One node of a random graph, before it is built.
struct Draft {
  std::vector<uint32_t> from;  // other nodes; empty = the graph's input
  int64_t rows;
  uint32_t device;  // kNone = free
  Op op;
};

std::vector<Draft> draft_random(const RandomShape& shape, Rng& rng) {
  constexpr std::array kOps = {Op::kADD, Op::kMUL, Op::kSUB, Op::kTANH, Op::kRELU, Op::kEXP};
  std::vector<Draft> drafts(shape.node_count);
  for (uint32_t i = 0; i < shape.node_count; ++i) {
    Draft& draft = drafts[i];
    const bool fixed = rng() % 100 < shape.fixed_percent;
    draft.device = fixed ? static_cast<uint32_t>(rng() % shape.device_count) : kNone;
    draft.rows = int64_t{4} << (2 * (rng() % shape.size_count));
    draft.op = fixed ? Op::kMATMUL : kOps[rng() % kOps.size()];
    const bool binary = draft.op == Op::kADD || draft.op == Op::kMUL || draft.op == Op::kSUB;
    for (uint32_t k = 0; i > 0 && k < (binary ? 2u : 1u); ++k) {
      const uint32_t reach = rng() % 10 == 0 ? i : std::min(i, 24u);
      draft.from.push_back(i - 1 - static_cast<uint32_t>(rng() % reach));
    }
  }
  return drafts;
}

// All drafts in a random order that keeps the edges; as they are without a seed.
std::vector<uint32_t> list_order(const std::vector<Draft>& drafts, uint64_t seed) {
  Rng rng(seed);
  std::vector<std::vector<uint32_t>> readers(drafts.size());
  std::vector<size_t> missing(drafts.size());
  std::vector<uint32_t> ready, order;
  for (uint32_t i = 0; i < drafts.size(); ++i) {
    missing[i] = drafts[i].from.size();
    for (const uint32_t from : drafts[i].from) readers[from].push_back(i);
    if (missing[i] == 0) ready.push_back(i);
    if (seed == 0) order.push_back(i);
  }
  while (seed != 0 && !ready.empty()) {
    std::swap(ready[rng() % ready.size()], ready.back());
    order.push_back(ready.back());
    ready.pop_back();
    for (const uint32_t reader : readers[order.back()])
      if (--missing[reader] == 0) ready.push_back(reader);
  }
  return order;
}

class RandomBuilder {
 public:
  explicit RandomBuilder(const RandomShape& shape) : shape_(shape) {}

  PlacementCase build() {
    Rng rng(shape_.seed);
    const std::vector<Draft> drafts = draft_random(shape_, rng);
    const TensorId input = case_.input("x", {4, kColumns});
    std::vector<TensorId> weights, tensors(drafts.size(), kNone);
    for (uint32_t device = 0; device < shape_.device_count; ++device)
      weights.push_back(case_.weight("w" + std::to_string(device), device, {kColumns, kColumns}));
    for (const uint32_t i : list_order(drafts, shape_.order_seed)) {
      const Draft& draft = drafts[i];
      const TensorId a = fit(draft.from.empty() ? input : tensors[draft.from[0]], draft.rows);
      const TensorId b = draft.from.size() < 2 ? a : fit(tensors[draft.from[1]], draft.rows);
      if (draft.device != kNone)
        tensors[i] = case_.node(Op::kMATMUL, {a, weights[draft.device]});
      else if (draft.op == Op::kADD || draft.op == Op::kMUL || draft.op == Op::kSUB)
        tensors[i] = case_.node(draft.op, {a, b});
      else
        tensors[i] = case_.node(draft.op, {a});
    }
    keep_all(drafts, tensors);
    PlacementCase result = case_.finish(name(), tensors.back(), shape_.device_count);
    result.options.soft_weights = false;
    if (shape_.device_count > 1) result.refused_above_host = {Op::kEXP};
    return result;
  }

 private:
  static constexpr int64_t kColumns = 64;

  std::string name() const {
    return "random " + std::to_string(shape_.node_count) + " on " + std::to_string(shape_.device_count) + " devices (" +
           std::to_string(shape_.seed) + ")";
  }

  // The first rows of a taller tensor; of a shorter one, its first row again and again.
  TensorId fit(TensorId x, int64_t rows) {
    const int64_t have = case_.views().shape(x)[0];
    if (have == rows) return x;
    const TensorId part = case_.views().slice(x, 0, 0, have > rows ? rows : 1).value();
    return have > rows ? part : case_.views().broadcast(part, std::array{rows, kColumns}).value();
  }

  // What nobody reads would be dropped.
  void keep_all(const std::vector<Draft>& drafts, const std::vector<TensorId>& tensors) {
    std::vector<bool> is_read(drafts.size(), false);
    for (const Draft& draft : drafts)
      for (const uint32_t from : draft.from) is_read[from] = true;
    for (uint32_t i = 0; i < drafts.size(); ++i)
      if (!is_read[i] && !case_.views().output(tensors[i], "y" + std::to_string(i)).ok()) std::abort();
  }

  const RandomShape& shape_;
  CaseBuilder case_;
};

std::vector<uint32_t> layers_on(std::initializer_list<std::pair<uint32_t, uint32_t>> runs) {
  std::vector<uint32_t> devices;
  for (const auto& [count, device] : runs) devices.insert(devices.end(), count, device);
  return devices;
}

TransformerShape same_devices(uint32_t device_count, const std::vector<uint32_t>& devices, uint32_t head_device = 0) {
  return {static_cast<uint32_t>(devices.size()), device_count, devices, devices, head_device};
}

}  // namespace

Capability PlacementCase::capability() const {
  using Access = Capability::Access;
  std::vector<NodeAnswers> answers(device_count, NodeAnswers(graph->node_count()));
  std::vector<std::vector<Access>> in_place(device_count, std::vector<Access>(device_count, Access::none));
  for (uint32_t device = 0; device < device_count; ++device) {
    in_place[device][device] = Access::write;
    for (NodeId node = 0; node < graph->node_count(); ++node) {
      const bool refused = std::ranges::find(refused_above_host, graph->op(node)) != refused_above_host.end();
      answers[device].set(node, refused && device + 1 < device_count ? BP_VERDICT_NO : BP_VERDICT_YES);
    }
  }
  return {std::move(answers), std::move(in_place)};
}

std::vector<uint32_t> PlacementCase::located() const {
  const std::unordered_map<std::string_view, uint32_t> places(options.locations.begin(), options.locations.end());
  std::vector<uint32_t> located(graph->storage_count(), kNone);
  for (StorageId storage = 0; storage < graph->storage_count(); ++storage)
    if (const auto place = places.find(graph->tensor_name(graph->storage(storage).root)); place != places.end())
      located[storage] = place->second;
  return located;
}

CasePlacer::CasePlacer(PlacementCase placement_case)
    : case_(std::move(placement_case)),
      capability_(case_.capability()),
      located_(case_.located()),
      devices_(case_.device_count, nullptr) {}

PlacementResult CasePlacer::place_only(PlacementMode mode) {
  case_.options.mode = mode;
  return backplane::place({*case_.graph, capability_, devices_, case_.options, located_}).value();
}

PlacedCase CasePlacer::place(PlacementMode mode) {
  PlacedCase placed;
  placed.placement = place_only(mode);
  placed.cut = split_graph(
      {*case_.graph, capability_, case_.options, located_, placed.placement.placements, placed.placement.order});
  const CostModel costs = CostModel::communication(case_.device_count);
  for (const Split& split : placed.cut.splits) placed.ns += costs.split_ns(split.device);
  for (const PlannedCopy& copy : placed.cut.copies) placed.ns += costs.copy_ns(copy.bytes(), copy.from, copy.to);
  return placed;
}

PlacementCase make_transformer(std::string name, const TransformerShape& shape) {
  return TransformerBuilder(shape).build(std::move(name));
}

PlacementCase make_towers(uint32_t towers, uint32_t device_count, uint64_t order_seed) {
  constexpr uint32_t kLayers = 32;
  constexpr int64_t kSide = 64;
  CaseBuilder builder;
  std::vector<TensorId> tops(towers, builder.input("x", {kSide, kSide}));
  std::vector<uint32_t> turns;
  for (uint32_t turn = 0; turn < kLayers * towers; ++turn) turns.push_back(turn % towers);
  if (order_seed != 0) std::shuffle(turns.begin(), turns.end(), Rng(order_seed));
  for (uint32_t turn = 0; turn < turns.size(); ++turn) {
    TensorId& top = tops[turns[turn]];
    const std::string name = std::to_string(turn);
    top = builder.node(Op::kMATMUL, {builder.node(Op::kTANH, {top}),
                                     builder.weight(name, turns[turn] % device_count, {kSide, kSide})});
  }
  for (uint32_t tower = 1; tower < towers; ++tower) tops[0] = builder.node(Op::kADD, {tops[0], tops[tower]});
  return builder.finish(std::to_string(towers) + " towers on " + std::to_string(device_count) + " devices", tops[0],
                        device_count + 1);
}

PlacementCase make_random_case(const RandomShape& shape) { return RandomBuilder(shape).build(); }

std::vector<PlacementCase> placement_family() {
  std::vector<PlacementCase> cases;
  const std::vector<uint32_t> first(32, 0), second(32, 1);
  cases.push_back(make_transformer("LLM on one device", same_devices(2, first)));
  cases.push_back(make_transformer("LLM, last 8 layers on the host", same_devices(2, layers_on({{24, 0}, {8, 1}}))));
  const auto over_four = layers_on({{8, 0}, {8, 1}, {8, 2}, {8, 3}});
  cases.push_back(make_transformer("LLM over 4 devices", same_devices(5, over_four, 3)));
  cases.push_back(make_transformer("LLM, FFN on the host", {32, 2, first, second, 0}));
  cases.push_back(make_transformer("LLM, softmax on the host", same_devices(2, first)));
  cases.back().refused_above_host = {Op::kEXP};
  cases.push_back(make_transformer("LLM, attention and FFN on 2 devices", {32, 3, first, second, 0}));
  TransformerShape biased = same_devices(2, first);
  biased.bias_device = 1;
  cases.push_back(make_transformer("LLM, biases on the host, hard", biased));
  cases.back().options.soft_weights = false;
  cases.push_back(make_transformer("LLM, biases on the host, soft", biased));
  cases.push_back(make_towers(2, 2));
  cases.push_back(make_towers(4, 4));
  cases.push_back(make_towers(8, 4));
  for (uint32_t i = 0; i < 12; ++i) cases.push_back(make_random_case({.seed = i + 1, .device_count = 1 + i % 4}));
  return cases;
}

}  // namespace backplane::testing
