// Sequences and optional values, which are lists of tensors that are known at import: nothing of them is left to run.
#include <algorithm>
#include <optional>

#include "backplane/base/text.hpp"
#include "lowering/lowering_table.hpp"
#include "scope.hpp"

namespace backplane::onnx_import {
namespace {

using Ids = std::vector<TensorId>;
using Shape = std::vector<int64_t>;

Result<const Ids*> sequence_in(NodeContext& c, size_t at) {
  if (const Ids* found = c.values.sequence(c.in(at))) return found;
  return invalid_argument(cat("input ", at, " must be a sequence, found ", c.values.kind_text(c.in(at))));
}

// The position that input `at` names among `count`, which negative ones count back from; the last if it is absent.
Result<size_t> position_in(NodeContext& c, size_t at, size_t count) {
  const auto end = static_cast<int64_t>(count);
  int64_t position = end - 1;
  if (c.has(at)) {
    BP_TRY_ASSIGN(position, c.in_i64(at));
  }
  if (position < -end || position >= end) {
    return invalid_argument(cat("position ", position, " is outside of what has ", end, " of them"));
  }
  return static_cast<size_t>(position < 0 ? position + end : position);
}

Status sequence_empty(NodeContext& c) { return c.set(0, c.values.add_sequence({})); }

Status sequence_construct(NodeContext& c) {
  if (std::find(c.inputs().begin(), c.inputs().end(), kNone) != c.inputs().end()) {
    return invalid_argument("one of its inputs is absent");
  }
  return c.set(0, c.values.add_sequence(c.inputs()));
}

// Before the position, which may be one behind the last element, and is if none is given.
Status sequence_insert(NodeContext& c) {
  BP_TRY_ASSIGN(const Ids* sequence, sequence_in(c, 0));
  Ids elements = *sequence;
  size_t position = elements.size();
  if (c.has(2)) {
    BP_TRY_ASSIGN(const int64_t given, c.in_i64(2));
    if (given != static_cast<int64_t>(elements.size())) {
      BP_TRY_ASSIGN(position, position_in(c, 2, elements.size()));
    }
  }
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(position), c.in(1));
  return c.set(0, c.values.add_sequence(std::move(elements)));
}

Status sequence_erase(NodeContext& c) {
  BP_TRY_ASSIGN(const Ids* sequence, sequence_in(c, 0));
  BP_TRY_ASSIGN(const size_t position, position_in(c, 1, sequence->size()));
  Ids elements = *sequence;
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(position));
  return c.set(0, c.values.add_sequence(std::move(elements)));
}

Status sequence_at(NodeContext& c) {
  BP_TRY_ASSIGN(const Ids* sequence, sequence_in(c, 0));
  BP_TRY_ASSIGN(const size_t position, position_in(c, 1, sequence->size()));
  return c.set(0, (*sequence)[position]);
}

Status sequence_length(NodeContext& c) {
  BP_TRY_ASSIGN(const Ids* sequence, sequence_in(c, 0));
  const auto length = static_cast<int64_t>(sequence->size());
  return c.set(0, c.emit.constant(HostTensor::of<int64_t>(DType::kI64, {}, std::span(&length, 1))));
}

// The extents along the axis: given, or of one size but for the last, or 1.
Result<Shape> split_extents(NodeContext& c, int64_t extent) {
  Shape given{1};
  bool is_list = false;
  if (c.has(1)) {
    BP_TRY(c.check_tensors({&c.inputs()[1], 1}));
    BP_TRY_ASSIGN(given, c.in_i64s(1));
    is_list = c.emit.rank(c.in(1)) > 0;
  }
  if (!is_list) {
    if (given.size() != 1 || given[0] < 1) return invalid_argument("a split of one size needs a positive one");
    const int64_t size = given[0];
    const int64_t parts = extent / size + (extent % size != 0);
    BP_TRY(c.emit.claim(parts));
    given.assign(static_cast<size_t>(parts), size);
    if (extent % size != 0) given.back() = extent % size;
  }
  int64_t rest = extent;
  for (const int64_t part : given) {
    if (part < 0 || part > rest) rest = -1;
    if (rest < 0) break;
    rest -= part;
  }
  if (rest == 0) return given;
  return invalid_argument(cat("lengths ", shape_text(given), " do not split an extent of ", extent));
}

Status split_to_sequence(NodeContext& c) {
  BP_TRY(c.check_tensors({c.inputs().data(), 1}));
  const Shape from = c.emit.shape(c.in(0));
  BP_TRY_ASSIGN(const int64_t axis, NodeContext::axis_of(c.i64("axis", 0), static_cast<int64_t>(from.size())));
  BP_TRY_ASSIGN(const Shape extents, split_extents(c, from[static_cast<size_t>(axis)]));
  const bool squeezes = !c.has(1) && c.i64("keepdims", 1) == 0;
  Shape squeezed = from;
  squeezed.erase(squeezed.begin() + axis);
  Ids parts;
  int64_t start = 0;
  for (const int64_t extent : extents) {
    BP_TRY_ASSIGN(TensorId part, c.emit.slice(c.in(0), axis, start, extent));
    if (squeezes) {
      BP_TRY_ASSIGN(part, c.emit.reshape(part, squeezed));
    }
    parts.push_back(part);
    start += extent;
  }
  return c.set(0, c.values.add_sequence(std::move(parts)));
}

Status concat_from_sequence(NodeContext& c) {
  BP_TRY_ASSIGN(const Ids* sequence, sequence_in(c, 0));
  if (sequence->empty()) return invalid_argument("an empty sequence has nothing to concatenate");
  Ids parts = *sequence;
  BP_TRY_ASSIGN(const bool is_text, c.values.to_tensors(Takes::all_text, parts));
  const bool is_new = c.i64("new_axis", 0) != 0;
  const int64_t rank = c.emit.rank(parts[0]) + (is_new ? 1 : 0);
  BP_TRY_ASSIGN(const int64_t axis, NodeContext::axis_of(c.i64("axis", 0), rank));
  for (TensorId& part : parts) {
    if (!is_new) break;
    Shape shape = c.emit.shape(part);
    shape.insert(shape.begin() + std::min(axis, static_cast<int64_t>(shape.size())), 1);
    BP_TRY_ASSIGN(part, c.emit.reshape(part, shape));
  }
  BP_TRY(c.set(0, c.emit.op(Op::kCONCAT, parts, {{BP_ATTR_AXIS, axis}})));
  return is_text ? c.set_text() : ok_status();
}

// The body once for each element; sequences behind the first go along with it, tensors are the same each time.
Status sequence_map(NodeContext& c) {
  const GraphDef* body = c.graph("body");
  if (!body) return invalid_argument("attribute 'body' must be a graph");
  if (body->outputs.size() < c.outputs().size()) return invalid_argument("its body has fewer outputs than it");
  BP_TRY_ASSIGN(const Ids* first, sequence_in(c, 0));
  std::vector<Ids> made(c.outputs().size());
  for (size_t turn = 0; turn < first->size(); ++turn) {
    Ids inputs;
    for (const TensorId id : c.inputs()) {
      const Ids* sequence = c.values.sequence(id);
      if (sequence && sequence->size() != first->size()) {
        return invalid_argument(cat("its sequences have ", first->size(), " and ", sequence->size(), " elements"));
      }
      inputs.push_back(sequence ? (*sequence)[turn] : id);
    }
    BP_TRY_ASSIGN(const Ids outputs, c.inliner.inline_graph(*body, inputs, cat("element ", turn)));
    for (size_t at = 0; at < made.size(); ++at) {
      if (outputs[at] == kUnavailable) return c.set_all(Ids(made.size(), kUnavailable));
      made[at].push_back(outputs[at]);
    }
  }
  for (size_t at = 0; at < made.size(); ++at) BP_TRY(c.set(at, c.values.add_sequence(std::move(made[at]))));
  return ok_status();
}

Status optional(NodeContext& c) { return c.set(0, c.has(0) ? c.in(0) : c.values.absent()); }

Status has_element(NodeContext& c) { return c.set(0, c.emit.scalar(DType::kBOOL, !c.values.is_absent(c.in(0)))); }

Status get_element(NodeContext& c) {
  if (c.values.is_absent(c.in(0))) return invalid_argument("the optional value is absent, so it has no element to get");
  return c.set(0, c.in(0));
}

}  // namespace

std::span<const Lowering> sequence_lowerings() {
  static constexpr Lowering kRows[] = {
      Lowering{"SequenceEmpty", 11, 0, sequence_empty}.taking(Takes::values),
      Lowering{"SequenceConstruct", 11, 1, sequence_construct}.taking(Takes::values),
      Lowering{"SequenceInsert", 11, 2, sequence_insert}.taking(Takes::values),
      Lowering{"SequenceErase", 11, 1, sequence_erase}.taking(Takes::values),
      Lowering{"SequenceAt", 11, 2, sequence_at}.taking(Takes::values),
      Lowering{"SequenceLength", 11, 1, sequence_length}.taking(Takes::values),
      Lowering{"SplitToSequence", 11, 1, split_to_sequence}.taking(Takes::values),
      Lowering{"ConcatFromSequence", 11, 1, concat_from_sequence}.taking(Takes::values),
      Lowering{"SequenceMap", 17, 1, sequence_map}.taking(Takes::values),
      Lowering{"Optional", 15, 0, optional}.taking(Takes::values),
      Lowering{"OptionalHasElement", 15, 0, has_element}.taking(Takes::values),
      Lowering{"OptionalGetElement", 15, 1, get_element}.taking(Takes::values),
  };
  return kRows;
}

}  // namespace backplane::onnx_import
