#include "random_graph.hpp"

#include <random>
#include <vector>

#include "backplane/graph/builder.hpp"

namespace backplane::testing {
namespace {

using Rng = std::mt19937_64;

int64_t pick(Rng& rng, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(rng() % static_cast<uint64_t>(high - low + 1));
}

HostTensor random_tensor(Rng& rng, std::vector<int64_t> shape) {
  HostTensor tensor = HostTensor::zeros(DType::kI32, std::move(shape)).value();
  for (int64_t i = 0; i < tensor.elements(); ++i)
    tensor.mutable_data<int32_t>()[i] = static_cast<int32_t>(pick(rng, -1000, 1000));
  return tensor;
}

class Maker {
 public:
  Maker(uint64_t seed, int node_count) : rng_(seed), node_count_(node_count) {}

  RandomGraph make() {
    rows_ = pick(rng_, 0, 9) == 0 ? 0 : pick(rng_, 1, 6);
    columns_ = pick(rng_, 1, 40);
    add_leaves();
    for (int i = 0; i < node_count_; ++i) add_node();
    add_outputs();
    return {builder_.finish().value(), std::move(inputs_)};
  }

 private:
  std::vector<int64_t> full() const { return {rows_, columns_}; }
  TensorId any() { return pool_[static_cast<size_t>(pick(rng_, 0, static_cast<int64_t>(pool_.size()) - 1))]; }

  void add_leaves() {
    for (int i = 0; i < 3; ++i) {
      const std::string name = "in" + std::to_string(i);
      inputs_[name] = random_tensor(rng_, full());
      pool_.push_back(builder_.input(name, DType::kI32, full()).value());
    }
    pool_.push_back(builder_.constant(random_tensor(rng_, full())).value());
    const TensorId row = builder_.constant(random_tensor(rng_, {1, columns_})).value();
    pool_.push_back(builder_.broadcast(row, full()).value());
  }

  // Another tensor of the full shape: the same elements in another order, or part of them twice.
  TensorId view_of(TensorId x) {
    switch (pick(rng_, 0, 4)) {
      case 0: {
        const TensorId flat = builder_.reshape(x, std::vector<int64_t>{rows_ * columns_}).value();
        return builder_.reshape(flat, full()).value();
      }
      case 1: {
        const TensorId turned = builder_.permute(x, std::vector<int64_t>{1, 0}).value();
        return builder_.reshape(turned, full()).value();
      }
      case 2: {
        const TensorId column = builder_.slice(x, 1, pick(rng_, 0, columns_ - 1), 1).value();
        return builder_.broadcast(column, full()).value();
      }
      default:
        return x;
    }
  }

  void add_node() {
    constexpr Op kBinary[] = {Op::kADD, Op::kSUB, Op::kMUL, Op::kMIN, Op::kMAX};
    const TensorId a = view_of(any()), b = view_of(any());
    if (pick(rng_, 0, 7) == 0) {
      const TensorId both = builder_.op(Op::kCONCAT, {a, b}, {{BP_ATTR_AXIS, int64_t{1}}}).value();
      pool_.push_back(builder_.slice(both, 1, pick(rng_, 0, columns_), columns_).value());
    } else {
      pool_.push_back(builder_.op(kBinary[pick(rng_, 0, 4)], {a, b}).value());
    }
    if (pool_.size() > 12) pool_.erase(pool_.begin() + pick(rng_, 0, 6));
  }

  void add_outputs() {
    const int64_t count = pick(rng_, 1, 4);
    for (int64_t i = 0; i < count; ++i)
      if (!builder_.output(view_of(any()), "out" + std::to_string(i)).ok()) std::abort();
    if (!builder_.output(pool_.back(), "last").ok()) std::abort();
  }

  Rng rng_;
  int node_count_;
  int64_t rows_ = 1, columns_ = 1;
  GraphBuilder builder_;
  std::vector<TensorId> pool_;
  std::map<std::string, HostTensor> inputs_;
};

}  // namespace

RandomGraph make_random_graph(uint64_t seed, int node_count) { return Maker(seed, node_count).make(); }

}  // namespace backplane::testing
