#include "emitter.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "backplane/base/text.hpp"
#include "backplane/graph/inference.hpp"
#include "backplane/reference/reference.hpp"

namespace backplane::onnx_import {
namespace {

// Beyond this many elements an op on constants stays an op: the file would not have stored its result either.
constexpr int64_t kMaxFoldedElements = int64_t{1} << 26;

int64_t product(int64_t a, int64_t b) {
  int64_t made = 0;
  return __builtin_mul_overflow(a, b, &made) ? INT64_MAX : made;
}

// What evaluating an op costs at most, in elements that are touched. Matrix products touch a row for each element they
// make; of the other ops of their kind (convolutions, pools, cells) an element may touch all that an input has.
int64_t folding_work(Op op, std::span<const std::optional<TensorSpec>> inputs, int64_t read, int64_t most,
                     int64_t made) {
  constexpr uint32_t kLinear = 5, kNeural = 6;  // families: the upper byte of an op's id
  const uint32_t family = static_cast<uint32_t>(op) >> 8;
  if (family == kNeural) return product(made, most);
  if (family == kLinear && inputs[0] && !inputs[0]->shape.empty()) return product(made, inputs[0]->shape.back());
  return read + made;
}

}  // namespace

void Emitter::track(TensorId made, Origin origin) {
  if (made >= origins_.size()) origins_.resize(made + size_t{1});
  origins_[made] = std::move(origin);
}

Emitter::Origin Emitter::origin_of(std::span<const TensorId> inputs) const {
  Origin united{false, {}, true};
  for (const TensorId id : inputs) {
    if (id == kNone) continue;
    const Origin& origin = origins_[id];
    if (origin.runtime) return {};
    united.candidates.insert(origin.candidates.begin(), origin.candidates.end());
    united.is_folded &= origin.is_folded;
  }
  return united;
}

Emitter::Origin Emitter::origin_of_op(std::span<const TensorId> inputs) const {
  Origin origin = origin_of(inputs);
  origin.is_folded = !origin.candidates.empty();  // those are to be known first
  return origin;
}

Result<TensorId> Emitter::input(const std::string& name, DType dtype, std::span<const int64_t> shape,
                                int64_t candidate) {
  BP_TRY_ASSIGN(const TensorId made, builder_.input(name, dtype, shape));
  Origin origin;
  if (candidate >= 0) origin = {false, {static_cast<uint32_t>(candidate)}, true};
  track(made, std::move(origin));
  return made;
}

Result<TensorId> Emitter::constant(HostTensor value, std::string name) {
  BP_TRY_ASSIGN(const TensorId made, builder_.constant(std::move(value), std::move(name)));
  track(made, {false, {}, true});
  return made;
}

Result<TensorId> Emitter::scalar(DType dtype, double value) {
  BP_TRY_ASSIGN(const TensorId wide, constant(HostTensor::of<double>(DType::kF64, {}, std::span(&value, 1))));
  if (dtype == DType::kF64) return wide;
  return op(Op::kCAST, {wide}, {{BP_ATTR_TO, static_cast<int64_t>(dtype)}});
}

Result<TensorId> Emitter::i64s(std::span<const int64_t> values) {
  return constant(HostTensor::of<int64_t>(DType::kI64, {static_cast<int64_t>(values.size())}, values));
}

Status Emitter::claim(int64_t elements) {
  if (elements > std::min(foldable_elements_, kMaxFoldedElements)) {
    return resource_exhausted(cat("a constant of ", elements, " elements is more than the import's limit allows"));
  }
  foldable_elements_ -= elements;
  return ok_status();
}

bool Emitter::is_constant(TensorId x) const {
  const Origin& origin = origins_[x];
  return !origin.runtime && origin.candidates.empty() && origin.is_folded;
}

bool Emitter::folds(Op op, std::span<const TensorId> inputs, const AttrList& attrs) {
  std::vector<std::optional<TensorSpec>> specs;
  int64_t read = 0, most = 0, made = 0;
  for (const TensorId id : inputs) {
    specs.emplace_back();
    if (id == kNone) continue;
    if (!is_constant(id)) return false;
    specs.back() = TensorSpec{dtype(id), shape(id)};
    const int64_t elements = element_count(specs.back()->shape).value();
    if (elements > kMaxFoldedElements) return false;
    read += elements;
    most = std::max(most, elements);
  }
  if (std::all_of(specs.begin(), specs.end(), [](const auto& spec) { return !spec; })) return false;
  const Result<std::vector<TensorSpec>> outputs = infer(op, specs, attrs);
  if (!outputs.ok()) return false;  // the builder says what is wrong
  for (const TensorSpec& output : *outputs) {
    const Result<int64_t> elements = element_count(output.shape);
    if (!elements.ok() || *elements > kMaxFoldedElements) return false;
    made += *elements;
  }
  const int64_t work = folding_work(op, specs, read, most, made);
  if (work > foldable_elements_) return false;
  foldable_elements_ -= work;
  return true;
}

Result<std::vector<HostTensor>> Emitter::evaluate(Op op, std::span<const TensorId> inputs,
                                                  const AttrList& attrs) const {
  std::vector<HostTensor> values;
  for (const TensorId id : inputs) {
    BP_TRY_ASSIGN(values.emplace_back(), id == kNone ? HostTensor() : builder_.constant_value(id).aligned());
  }
  return reference::evaluate(op, values, attrs);
}

Result<TensorId> Emitter::op(Op op, std::span<const TensorId> inputs, const AttrList& attrs) {
  if (folds(op, inputs, attrs)) {
    BP_TRY_ASSIGN(std::vector<HostTensor> outputs, evaluate(op, inputs, attrs));
    return constant(std::move(outputs.at(0)));
  }
  BP_TRY_ASSIGN(const TensorId made, builder_.op(op, inputs, attrs, node_name_));
  track(made, origin_of_op(inputs));
  return made;
}

Result<std::vector<TensorId>> Emitter::node(Op op, std::span<const TensorId> inputs, const AttrList& attrs,
                                            std::span<const bool> wanted) {
  std::vector<TensorId> made(wanted.size(), kNone);
  if (folds(op, inputs, attrs)) {
    BP_TRY_ASSIGN(const std::vector<HostTensor> outputs, evaluate(op, inputs, attrs));
    for (size_t at = 0; at < wanted.size() && at < outputs.size(); ++at) {
      if (!wanted[at]) continue;
      BP_TRY_ASSIGN(made[at], constant(outputs[at]));
    }
    return made;
  }
  BP_TRY_ASSIGN(made, builder_.node(op, inputs, attrs, wanted, node_name_));
  for (const TensorId id : made) {
    if (id != kNone) track(id, origin_of_op(inputs));
  }
  return made;
}

Result<TensorId> Emitter::view(TensorId x, Result<TensorId> made) {
  if (made.ok() && *made != x) track(*made, Origin(origins_[x]));
  return made;
}

Result<TensorId> Emitter::reshape(TensorId x, std::span<const int64_t> shape) {
  Result<TensorId> made = view(x, builder_.reshape(x, shape));
  // A constant that is not dense: the builder has put in a copy, which a new constant saves.
  if (made.ok() && is_constant(x) && builder_.constant_value(*made).is_null()) {
    const HostTensor value = builder_.constant_value(x);
    BP_TRY_ASSIGN(HostTensor dense, HostTensor::borrow(value.dtype(), {shape.begin(), shape.end()}, value.bytes(),
                                                       value.keeper(), value.file()));
    return constant(std::move(dense));
  }
  return made;
}

Result<TensorId> Emitter::permute(TensorId x, std::span<const int64_t> order) {
  return view(x, builder_.permute(x, order));
}

Result<TensorId> Emitter::slice(TensorId x, int64_t axis, int64_t start, int64_t count, int64_t step) {
  return view(x, builder_.slice(x, axis, start, count, step));
}

Result<TensorId> Emitter::broadcast(TensorId x, std::span<const int64_t> shape) {
  return view(x, builder_.broadcast(x, shape));
}

Result<HostTensor> Emitter::constant_value(TensorId x) {
  if (x >= origins_.size())
    return invalid_argument("a tensor is wanted, but it is given a sequence, strings or nothing");
  if (origins_[x].runtime) {
    return unimplemented(
        cat("it needs the value of ", builder_.tensor_text(x), " at import, but that value depends on run-time data"));
  }
  if (!origins_[x].candidates.empty()) {
    needed_.insert(origins_[x].candidates.begin(), origins_[x].candidates.end());
    return Status(Code::failed_precondition, "the value of a small input is needed", kNeedsValueId);
  }
  if (!is_constant(x) || element_count(shape(x)).value() > kMaxFoldedElements) {
    return unimplemented(cat(builder_.tensor_text(x), " is too big to be evaluated at import"));
  }
  HostTensor value = builder_.constant_value(x);
  if (value.is_null()) return unimplemented(cat(builder_.tensor_text(x), " is too big to be evaluated at import"));
  return value.aligned();
}

}  // namespace backplane::onnx_import
