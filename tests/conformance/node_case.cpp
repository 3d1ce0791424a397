#include "node_case.hpp"

#include <numeric>
#include <utility>

#include "backplane/base/text.hpp"

namespace backplane::testing {

Result<TensorId> NodeCase::leaf(HostTensor value) {
  if (random.chance(25)) return builder_.constant(std::move(value));
  std::string name = cat("x", inputs.size());
  auto id = builder_.input(name, value.dtype(), value.shape());
  inputs.emplace(std::move(name), std::move(value));
  return id;
}

// Made backwards: the shape before the broadcast, before the permutation, before the slice.
Result<TensorId> NodeCase::view(DType dtype, const Shape& shape, Values values) {
  const size_t rank = shape.size();
  Shape narrow = shape;
  if (random.chance(25)) narrow[static_cast<size_t>(random.between(0, static_cast<int64_t>(rank) - 1))] = 1;
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (random.chance(60))
    for (size_t i = rank; i-- > 1;)
      std::swap(order[i], order[static_cast<size_t>(random.between(0, static_cast<int64_t>(i)))]);
  Shape base(rank);
  for (size_t i = 0; i < rank; ++i) base[static_cast<size_t>(order[i])] = narrow[i];

  const int64_t axis = random.between(0, static_cast<int64_t>(rank) - 1);
  const int64_t count = base[static_cast<size_t>(axis)];
  const int64_t start = random.between(0, 3), step = random.between(1, 3);
  const bool slices = count > 0 && random.chance(60);
  if (slices) base[static_cast<size_t>(axis)] = start + (count - 1) * step + 1 + random.between(0, 2);
  BP_TRY_ASSIGN(TensorId id, leaf(random.tensor(dtype, base, values)));
  if (slices) {
    BP_TRY_ASSIGN(id, builder_.slice(id, axis, start, count, step));
  }
  BP_TRY_ASSIGN(id, builder_.permute(id, order));
  return builder_.broadcast(id, shape);
}

void NodeCase::operand(DType dtype, const Shape& shape, Values values) {
  const bool as_view = !shape.empty() && random.chance(50);
  auto id = as_view ? view(dtype, shape, values) : leaf(random.tensor(dtype, shape, values));
  if (!id.ok() && status_.ok()) status_ = id.status();
  operands_.push_back(id.ok() ? *id : kNone);
}

void NodeCase::operand(HostTensor value) {
  auto id = leaf(std::move(value));
  if (!id.ok() && status_.ok()) status_ = id.status();
  operands_.push_back(id.ok() ? *id : kNone);
}

Result<std::shared_ptr<const Graph>> NodeCase::finish() {
  BP_TRY(status_);
  const auto flags = std::make_unique<bool[]>(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) flags[i] = wanted[i] != 0;
  BP_TRY_ASSIGN(const auto outputs, builder_.node(op_, operands_, attrs, {flags.get(), wanted.size()}));
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] != kNone) BP_TRY(builder_.output(outputs[i], cat("y", i)));
  return builder_.finish();
}

}  // namespace backplane::testing
