// Loops, unrolled: graphs are static, so the number of turns is part of the import.
#include <algorithm>
#include <optional>

#include "backplane/base/text.hpp"
#include "lowering/lowering_table.hpp"
#include "scope.hpp"

namespace backplane::onnx_import {
namespace {

using Ids = std::vector<TensorId>;
using Shape = std::vector<int64_t>;

bool is_available(const Ids& ids) { return std::find(ids.begin(), ids.end(), kUnavailable) == ids.end(); }

// What a loop of no turns stacks: nothing, in the shape of one part.
Result<TensorId> stack_nothing(NodeContext& c, TensorId part, int64_t axis) {
  Shape shape = c.emit.shape(part);
  BP_TRY_ASSIGN(axis, NodeContext::axis_of(axis, static_cast<int64_t>(shape.size()) + 1));
  shape.insert(shape.begin() + axis, 0);
  BP_TRY_ASSIGN(HostTensor nothing, HostTensor::zeros(c.emit.dtype(part), shape));
  return c.emit.constant(std::move(nothing));
}

// The parts along a new axis.
Result<TensorId> stack(NodeContext& c, const Ids& parts, int64_t axis) {
  BP_TRY_ASSIGN(axis, NodeContext::axis_of(axis, c.emit.rank(parts.at(0)) + 1));
  Ids rows;
  for (const TensorId part : parts) {
    Shape shape = c.emit.shape(part);
    shape.insert(shape.begin() + std::min(axis, static_cast<int64_t>(shape.size())), 1);
    BP_TRY_ASSIGN(rows.emplace_back(), c.emit.reshape(part, shape));
  }
  return c.emit.op(Op::kCONCAT, rows, {{BP_ATTR_AXIS, axis}});
}

// One position of an axis, without the axis.
Result<TensorId> take(NodeContext& c, TensorId x, int64_t axis, int64_t at) {
  Shape shape = c.emit.shape(x);
  shape.erase(shape.begin() + axis);
  BP_TRY_ASSIGN(const TensorId one, c.emit.slice(x, axis, at, 1));
  return c.emit.reshape(one, shape);
}

Status all_unavailable(NodeContext& c) { return c.set_all(Ids(c.outputs().size(), kUnavailable)); }

// A loop's body and what has come of its turns so far.
class Turns {
 public:
  // `lead`: outputs of the body in front of the carried ones. `context` and `body` outlive this.
  Turns(NodeContext& context, const GraphDef& body, Ids carried, size_t lead)
      : context_(context), body_(body), carried_(std::move(carried)), lead_(lead) {}

  // Errors: invalid_argument for a body that does not fit the node.
  Status check() {
    if (body_.outputs.size() < lead_ + carried_.size()) {
      return invalid_argument(cat("its body has ", body_.outputs.size(), " outputs, but carries ", carried_.size()));
    }
    parts_.resize(body_.outputs.size() - lead_ - carried_.size());
    return ok_status();
  }

  // The body's outputs for these inputs around the carried ones.
  Result<Ids> run(const Ids& before, const Ids& after) {
    Ids inputs = before;
    inputs.insert(inputs.end(), carried_.begin(), carried_.end());
    inputs.insert(inputs.end(), after.begin(), after.end());
    return context_.inliner.inline_graph(body_, inputs, cat("turn ", count_));
  }

  void keep(const Ids& made) {
    ++count_;
    const auto first = made.begin() + static_cast<std::ptrdiff_t>(lead_);
    std::copy_n(first, carried_.size(), carried_.begin());
    for (size_t at = 0; at < parts_.size(); ++at) parts_[at].push_back(made[lead_ + carried_.size() + at]);
  }

  int64_t count() const { return count_; }
  size_t part_count() const { return parts_.size(); }
  Ids& parts(size_t at) { return parts_[at]; }

  // What the node gives: the carried values and the stacked ones. `trial`: what one turn would make, if there was none.
  Result<Ids> results(const std::vector<int64_t>& axes, const Ids& trial) {
    Ids made = carried_;
    for (size_t at = 0; at < parts_.size(); ++at) {
      const int64_t axis = axes.empty() ? 0 : axes[at];
      BP_TRY(context_.check_tensors(parts_[at]));
      if (count_ == 0) BP_TRY(context_.check_tensors({&trial[lead_ + carried_.size() + at], 1}));
      BP_TRY_ASSIGN(made.emplace_back(), count_ > 0
                                             ? stack(context_, parts_[at], axis)
                                             : stack_nothing(context_, trial[lead_ + carried_.size() + at], axis));
    }
    if (count_ != 1) context_.inliner.note(cat("is unrolled to ", count_, " turns"));
    return made;
  }

 private:
  NodeContext& context_;
  const GraphDef& body_;
  Ids carried_;
  size_t lead_;
  std::vector<Ids> parts_;
  int64_t count_ = 0;
};

Result<std::optional<int64_t>> trip_count(NodeContext& c) {
  if (!c.has(0)) return std::optional<int64_t>();
  Result<int64_t> count = c.in_i64(0);
  if (!count.ok()) return count.status().with_context("its trip count decides what there is to run");
  return std::optional(*count);
}

// With a trip count and no condition, what the body says of the condition is ignored.
Status loop(NodeContext& c) {
  const GraphDef* body = c.graph("body");
  if (!body) return invalid_argument("attribute 'body' must be a graph");
  BP_TRY_ASSIGN(const std::optional<int64_t> most, trip_count(c));
  if (!most && !c.has(1)) return invalid_argument("it has neither a trip count nor a condition, so it never ends");
  Ids carried(c.inputs().begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(2, c.inputs().size())),
              c.inputs().end());
  if (std::find(carried.begin(), carried.end(), kNone) != carried.end()) {
    return invalid_argument("a value that it carries is absent");
  }
  Turns turns(c, *body, std::move(carried), 1);
  BP_TRY(turns.check());
  BP_TRY_ASSIGN(TensorId condition, c.has(1) ? Result<TensorId>(c.in(1)) : c.emit.scalar(DType::kBOOL, 1));
  Ids trial;
  for (bool is_trial = false; !is_trial;) {
    bool more = !most || turns.count() < *most;
    if (more && c.has(1)) {
      BP_TRY_ASSIGN(more, c.known_bool(condition));
    }
    if (!more && (turns.count() > 0 || turns.part_count() == 0)) break;
    is_trial = !more;  // no turn at all: one whose results nobody reads tells the shapes
    const int64_t number = turns.count();
    BP_TRY_ASSIGN(const TensorId turn,
                  c.emit.constant(HostTensor::of<int64_t>(DType::kI64, {}, std::span(&number, 1))));
    BP_TRY_ASSIGN(trial, turns.run({turn, condition}, {}));
    if (!is_available(trial)) return all_unavailable(c);
    condition = trial[0];
    if (!is_trial) turns.keep(trial);
  }
  BP_TRY_ASSIGN(const Ids results, turns.results({}, trial));
  return c.set_all(results);
}

// How a Scan walks: per scan input and per scan output its axis, and whether it goes backwards.
struct Walk {
  Shape input_axes, input_directions, output_axes, output_directions;
};

bool is_backwards(const Shape& directions, size_t at) { return at < directions.size() && directions[at] != 0; }

// Axes of the inputs within their ranks, and the number of turns.
Result<int64_t> count_turns(NodeContext& c, const Ids& scanned, Walk& walk) {
  BP_TRY(c.check_tensors(scanned));
  walk.input_axes.resize(scanned.size(), 0);
  std::optional<int64_t> count;
  for (size_t at = 0; at < scanned.size(); ++at) {
    int64_t& axis = walk.input_axes[at];
    BP_TRY_ASSIGN(axis, NodeContext::axis_of(axis, c.emit.rank(scanned[at])));
    const int64_t extent = c.emit.shape(scanned[at])[static_cast<size_t>(axis)];
    if (count.value_or(extent) != extent) {
      return invalid_argument(cat("its scan inputs have ", *count, " and ", extent, " elements along their axes"));
    }
    count = extent;
  }
  if (!count) return invalid_argument("it has no scan input");
  return *count;
}

// What the body reads of the scan inputs in one turn; zeros where there is nothing to read.
Result<Ids> take_all(NodeContext& c, const Ids& scanned, const Walk& walk, int64_t turn, int64_t count) {
  Ids taken;
  for (size_t at = 0; at < scanned.size(); ++at) {
    const int64_t axis = walk.input_axes[at];
    if (count == 0) {
      Shape shape = c.emit.shape(scanned[at]);
      shape.erase(shape.begin() + axis);
      BP_TRY_ASSIGN(const TensorId zero, c.emit.scalar(c.emit.dtype(scanned[at]), 0));
      BP_TRY_ASSIGN(taken.emplace_back(), c.emit.broadcast(zero, shape));
      continue;
    }
    const int64_t position = is_backwards(walk.input_directions, at) ? count - 1 - turn : turn;
    BP_TRY_ASSIGN(taken.emplace_back(), take(c, scanned[at], axis, position));
  }
  return taken;
}

// The node's outputs; empty if something in the body is unsupported.
Result<Ids> scan_through(NodeContext& c, const GraphDef& body, const Ids& carried, const Ids& scanned, Walk walk) {
  BP_TRY_ASSIGN(const int64_t count, count_turns(c, scanned, walk));
  Turns turns(c, body, carried, 0);
  BP_TRY(turns.check());
  if (!walk.output_axes.empty() && walk.output_axes.size() != turns.part_count()) {
    return invalid_argument(cat("scan_output_axes ", shape_text(walk.output_axes), " must have one entry for each of ",
                                turns.part_count(), " scan outputs"));
  }
  Ids made;
  for (int64_t turn = 0; turn < std::max<int64_t>(count, 1); ++turn) {
    BP_TRY_ASSIGN(const Ids taken, take_all(c, scanned, walk, turn, count));
    BP_TRY_ASSIGN(made, turns.run({}, taken));
    if (!is_available(made)) return Ids();
    if (count > 0) turns.keep(made);
  }
  for (size_t at = 0; at < turns.part_count(); ++at) {
    if (is_backwards(walk.output_directions, at)) std::reverse(turns.parts(at).begin(), turns.parts(at).end());
  }
  return turns.results(walk.output_axes, made);
}

struct ScanInputs {
  const GraphDef* body = nullptr;
  Ids carried, scanned;
};

// `first`: the first input that is carried or scanned. Errors: invalid_argument.
Result<ScanInputs> scan_inputs(NodeContext& c, size_t first) {
  ScanInputs made{c.graph("body"), {}, {}};
  if (!made.body) return invalid_argument("attribute 'body' must be a graph");
  const Ids& all = c.inputs();
  const int64_t scanned = c.i64("num_scan_inputs", 0);
  if (scanned < 1 || all.size() < first || scanned > static_cast<int64_t>(all.size() - first)) {
    return invalid_argument(cat("num_scan_inputs is ", scanned, ", but it has ", all.size(), " inputs"));
  }
  if (std::find(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(), kNone) != all.end()) {
    return invalid_argument("one of its inputs is absent");
  }
  made.carried.assign(all.begin() + static_cast<std::ptrdiff_t>(first), all.end() - scanned);
  made.scanned.assign(all.end() - scanned, all.end());
  return made;
}

Status scan(NodeContext& c) {
  BP_TRY_ASSIGN(const ScanInputs inputs, scan_inputs(c, 0));
  const Walk walk{c.i64s("scan_input_axes"), c.i64s("scan_input_directions"), c.i64s("scan_output_axes"),
                  c.i64s("scan_output_directions")};
  BP_TRY(c.fault());
  BP_TRY_ASSIGN(const Ids results, scan_through(c, *inputs.body, inputs.carried, inputs.scanned, walk));
  return results.empty() ? all_unavailable(c) : c.set_all(results);
}

Result<Ids> take_each(NodeContext& c, const Ids& ids, int64_t at) {
  Ids taken;
  for (const TensorId id : ids) {
    if (c.emit.rank(id) < 1 || at >= c.emit.shape(id)[0]) {
      return invalid_argument("its inputs do not have one batch size");
    }
    BP_TRY_ASSIGN(taken.emplace_back(), take(c, id, 0, at));
  }
  return taken;
}

// Before opset 9 all inputs and outputs have a batch axis in front, and each of the batch is scanned for itself.
Status scan_batches(NodeContext& c) {
  if (c.has(0)) return unimplemented("it has sequences of different lengths");
  BP_TRY_ASSIGN(const ScanInputs inputs, scan_inputs(c, 1));
  const Walk walk{{}, c.i64s("directions"), {}, {}};
  BP_TRY(c.fault());
  const Shape shape = c.emit.shape(inputs.scanned[0]);
  if (shape.empty() || shape[0] == 0) return unimplemented("its batch is empty");
  std::vector<Ids> outputs;
  for (int64_t at = 0; at < shape[0]; ++at) {
    BP_TRY_ASSIGN(const Ids carried, take_each(c, inputs.carried, at));
    BP_TRY_ASSIGN(const Ids scanned, take_each(c, inputs.scanned, at));
    BP_TRY_ASSIGN(const Ids made, scan_through(c, *inputs.body, carried, scanned, walk));
    if (made.empty()) return all_unavailable(c);
    outputs.resize(made.size());
    for (size_t output = 0; output < made.size(); ++output) outputs[output].push_back(made[output]);
  }
  Ids stacked;
  for (const Ids& parts : outputs) {
    BP_TRY_ASSIGN(stacked.emplace_back(), stack(c, parts, 0));
  }
  return c.set_all(stacked);
}

}  // namespace

std::span<const Lowering> loop_lowerings() {
  static constexpr Lowering kRows[] = {
      Lowering{"Loop", 7, 0, loop}.taking(Takes::values),
      {"Scan", 8, 0, scan_batches, Op::kCOPY, 8},
      Lowering{"Scan", 9, 1, scan}.taking(Takes::values),
  };
  return kRows;
}

}  // namespace backplane::onnx_import
