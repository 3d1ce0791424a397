#include "backplane/graph/builder.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"
#include "backplane/graph/inference.hpp"
#include "builder_state.hpp"
#include "view_layout.hpp"

namespace backplane {
namespace {

// Elements that a node's attributes take in the pools, at most.
uint64_t pool_elements(const AttrList& attrs) {
  uint64_t count = 0;
  for (const Attr& attr : attrs.items()) {
    if (const auto* s = std::get_if<std::string>(&attr.value)) count += s->size() + 1;
    if (const auto* is = std::get_if<std::vector<int64_t>>(&attr.value)) count += is->size();
    if (const auto* fs = std::get_if<std::vector<double>>(&attr.value)) count += fs->size();
  }
  return count + attrs.items().size();
}

}  // namespace

// ---- GraphBuilder::State

std::string GraphBuilder::State::text(TensorId x) const {
  if (x >= arrays.tensors.size()) return cat("no tensor ", x);
  const std::string_view name = arrays.text_at(tensor(x).name_at);
  const std::string label = name.empty() ? cat("tensor ", x) : std::string(name);
  return cat(label, ": ", type_name(dtype(x)), " ", shape_text(shape(x)));
}

Status GraphBuilder::State::check(TensorId x, std::string_view what) const {
  if (x < arrays.tensors.size()) return ok_status();
  return invalid_argument(cat(what, ": there is no tensor ", x, "; the graph has ", arrays.tensors.size()));
}

Status GraphBuilder::State::check_room(uint64_t more) const {
  if (arrays.has_room(more)) return ok_status();
  return resource_exhausted("the graph is full: its 32-bit indices reach no further; split the model");
}

Result<TensorId> GraphBuilder::State::add_root(DType dtype, std::span<const int64_t> shape, uint32_t flags,
                                               std::string_view name) {
  BP_TRY_ASSIGN(const uint64_t bytes, dense_bytes(dtype, shape));
  BP_TRY(check_room(2 * shape.size() + name.size() + 1));
  bp_tensor record{};
  record.dtype = static_cast<uint32_t>(dtype);
  record.flags = flags;
  record.view_of = kNone;
  record.name_at = arrays.add_text(name);
  record.bytes = bytes;
  return arrays.add_tensor(record, shape, dense_strides(dtype, shape));
}

Result<TensorId> GraphBuilder::State::add_leaf(DType dtype, std::span<const int64_t> shape, uint32_t flags,
                                               std::string name) {
  const std::string_view kind = flags & BP_TENSOR_STATE ? "state" : "input";
  if (name.empty()) return invalid_argument(cat(kind, ": a graph's ", kind, " needs a name"));
  if (leaf_names.count(name))
    return invalid_argument(cat(kind, " '", name, "': the graph already has an input or state of this name"));
  auto added = add_root(dtype, shape, flags, name);
  if (!added.ok()) return added.status().with_context(cat(kind, " '", name, "'"));
  leaf_names.insert(std::move(name));
  return added;
}

Result<TensorId> GraphBuilder::State::add_view(TensorId x, std::span<const int64_t> shape, std::vector<int64_t> strides,
                                               uint64_t skip) {
  BP_TRY(check_room(2 * shape.size()));
  make_canonical(dtype(x), shape, strides);
  bp_tensor record{};
  record.dtype = tensor(x).dtype;
  record.flags = tensor(root(x)).flags & (BP_TENSOR_INPUT | BP_TENSOR_WEIGHT | BP_TENSOR_STATE);
  record.view_of = root(x);
  record.name_at = kNone;
  record.offset = tensor(x).offset + skip;
  record.bytes = touched_bytes(dtype(x), shape, strides);
  return arrays.add_tensor(record, shape, strides);
}

// ---- leaves

GraphBuilder::GraphBuilder() : state_(std::make_unique<State>()) {}
GraphBuilder::~GraphBuilder() = default;
GraphBuilder::GraphBuilder(GraphBuilder&&) noexcept = default;
GraphBuilder& GraphBuilder::operator=(GraphBuilder&&) noexcept = default;

Result<TensorId> GraphBuilder::input(std::string name, DType dtype, std::span<const int64_t> shape) {
  BP_TRY_ASSIGN(const TensorId added, state_->add_leaf(dtype, shape, BP_TENSOR_INPUT, name));
  state_->inputs.push_back({std::move(name), added});
  return added;
}

Result<TensorId> GraphBuilder::state(std::string name, DType dtype, std::span<const int64_t> shape) {
  return state_->add_leaf(dtype, shape, BP_TENSOR_STATE, std::move(name));
}

Result<TensorId> GraphBuilder::constant(HostTensor value, std::string name) {
  if (value.is_null()) return invalid_argument(cat("constant '", name, "': the value is a null tensor"));
  BP_TRY_ASSIGN(const TensorId added, state_->add_root(value.dtype(), value.shape(), BP_TENSOR_WEIGHT, name));
  state_->constants.emplace(added, std::move(value));
  return added;
}

// ---- ops

// What the three ways of making a node have in common.
struct GraphBuilder::NodeMaker {
  State& state;
  Op op;
  const AttrList& attrs;
  std::string_view name;

  Result<std::vector<TensorSpec>> infer_outputs(std::span<const TensorId> inputs) const {
    std::vector<std::optional<TensorSpec>> specs(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == kNone) continue;
      BP_TRY(state.check(inputs[i], op_name(op)));
      const auto shape = state.shape(inputs[i]);
      specs[i] = TensorSpec{state.dtype(inputs[i]), {shape.begin(), shape.end()}};
    }
    auto outputs = infer(op, specs, attrs);
    if (!outputs.ok() && !name.empty()) return outputs.status().with_context(cat("node '", name, "'"));
    return outputs;
  }

  Status check_room(size_t inputs, const std::vector<TensorSpec>& outputs) const {
    uint64_t more = inputs + outputs.size() + pool_elements(attrs) + (name.size() + 24) * (outputs.size() + 1);
    for (const TensorSpec& spec : outputs) more += 2 * spec.shape.size();
    return state.check_room(more);
  }

  void add(std::span<const TensorId> inputs, std::span<const TensorId> outputs, uint32_t flags) const {
    std::vector<Attr> sorted(attrs.items().begin(), attrs.items().end());
    std::sort(sorted.begin(), sorted.end(), [](const Attr& a, const Attr& b) { return a.key < b.key; });
    for (const Attr& attr : sorted) state.arrays.add_attr(attr);
    bp_node record{};
    record.op = static_cast<uint32_t>(op);
    record.op_version = op_version(op);
    record.flags = flags;
    record.tag = state.arrays.nodes.size();
    drop_absent_tail_of(inputs);
    drop_absent_tail_of(outputs);
    state.arrays.add_node(record, inputs, outputs);
    state.node_names.push_back(state.arrays.add_text(name));
  }

  static void drop_absent_tail_of(std::span<const TensorId>& ids) {
    while (!ids.empty() && ids.back() == kNone) ids = ids.first(ids.size() - 1);
  }
};

Result<std::vector<TensorId>> GraphBuilder::node(Op op, std::span<const TensorId> inputs, const AttrList& attrs,
                                                 std::span<const bool> wanted, std::string name) {
  const NodeMaker maker{*state_, op, attrs, name};
  BP_TRY_ASSIGN(const auto specs, maker.infer_outputs(inputs));
  if (wanted.size() > specs.size())
    return invalid_argument(cat(op_name(op), ": ", wanted.size(), " outputs wanted, but the op has ", specs.size()));
  if (std::find(wanted.begin(), wanted.end(), true) == wanted.end())
    return invalid_argument(cat(op_name(op), ": no output is wanted"));
  BP_TRY(maker.check_room(inputs.size(), specs));
  std::vector<TensorId> outputs(wanted.size(), kNone);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    const std::string label = i == 0 || name.empty() ? name : cat(name, ":", i);
    BP_TRY_ASSIGN(outputs[i], state_->add_root(specs[i].dtype, specs[i].shape, 0, label));
  }
  maker.add(inputs, outputs, 0);
  return outputs;
}

Result<TensorId> GraphBuilder::op(Op op, std::span<const TensorId> inputs, const AttrList& attrs, std::string name) {
  const bool wanted[] = {true};
  BP_TRY_ASSIGN(const auto outputs, node(op, inputs, attrs, wanted, std::move(name)));
  return outputs[0];
}

Result<TensorId> GraphBuilder::node_into(TensorId target, Op op, std::span<const TensorId> inputs,
                                         const AttrList& attrs, std::string name) {
  BP_TRY(state_->check(target, "node_into"));
  const std::string what = cat(op_name(op), " into ", state_->text(target));
  if (!(state_->tensor(target).flags & BP_TENSOR_STATE))
    return invalid_argument(cat(what, ": the target is no state tensor and no view of one"));
  const auto shape = state_->shape(target);
  const auto strides = state_->strides(target);
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] > 1 && strides[axis] == 0)
      return invalid_argument(cat(what, ": elements of axis ", axis, " share memory (a broadcast view)"));
  const NodeMaker maker{*state_, op, attrs, name};
  BP_TRY_ASSIGN(const auto specs, maker.infer_outputs(inputs));
  if (specs[0].dtype != state_->dtype(target) ||
      !std::equal(shape.begin(), shape.end(), specs[0].shape.begin(), specs[0].shape.end()))
    return invalid_argument(cat(what, ": the node gives ", type_name(specs[0].dtype), " ", shape_text(specs[0].shape)));
  BP_TRY(maker.check_room(inputs.size(), specs));
  BP_TRY_ASSIGN(const auto safe_inputs, separate_from(target, op, inputs));
  const TensorId outputs[] = {target};
  maker.add(safe_inputs, outputs, BP_NODE_SIDE_EFFECT);
  return target;
}

// A node must not read what it is overwriting: such inputs are copied first. Only set_rows is defined on its target.
Result<std::vector<TensorId>> GraphBuilder::separate_from(TensorId target, Op op, std::span<const TensorId> inputs) {
  std::vector<TensorId> separate(inputs.begin(), inputs.end());
  for (TensorId& x : separate) {
    if (x == kNone || state_->root(x) != state_->root(target)) continue;
    if (op == Op::kSET_ROWS && x == target && &x == &separate[0]) continue;
    const bp_tensor& in = state_->tensor(x);
    const bp_tensor& out = state_->tensor(target);
    if (in.offset + in.bytes <= out.offset || out.offset + out.bytes <= in.offset) continue;
    BP_TRY_ASSIGN(x, this->op(Op::kCOPY, {x}));
  }
  return separate;
}

// ---- questions and the end

DType GraphBuilder::dtype(TensorId x) const { return x < state_->arrays.tensors.size() ? state_->dtype(x) : DType{}; }
std::string GraphBuilder::tensor_text(TensorId x) const { return state_->text(x); }

std::vector<int64_t> GraphBuilder::shape(TensorId x) const {
  if (x >= state_->arrays.tensors.size()) return {};
  const auto shape = state_->shape(x);
  return {shape.begin(), shape.end()};
}

HostTensor GraphBuilder::constant_value(TensorId x) const {
  if (x >= state_->arrays.tensors.size()) return {};
  const auto it = state_->constants.find(state_->root(x));
  if (it == state_->constants.end()) return {};
  if (it->first == x) return it->second;
  const auto from = it->second.bytes().subspan(state_->tensor(x).offset, state_->tensor(x).bytes);
  const auto strides = state_->strides(x);
  if (is_dense(dtype(x), shape(x), strides)) {
    auto view = HostTensor::borrow(dtype(x), shape(x), from, it->second.keeper(), it->second.file());
    return view.ok() ? std::move(view).value() : HostTensor();
  }
  auto gathered = HostTensor::zeros(dtype(x), shape(x));
  if (!gathered.ok()) return {};
  gather_dense(dtype(x), shape(x), strides, from.data(), gathered->mutable_bytes().data());
  return std::move(gathered).value();
}

Status GraphBuilder::output(TensorId x, std::string name) {
  BP_TRY(state_->check(x, cat("output '", name, "'")));
  if (name.empty()) return invalid_argument(cat("output: ", state_->text(x), " needs a name as an output"));
  if (!state_->output_names.insert(name).second)
    return invalid_argument(cat("output '", name, "': the graph already has an output of this name"));
  state_->outputs.push_back({std::move(name), x});
  return ok_status();
}

}  // namespace backplane
