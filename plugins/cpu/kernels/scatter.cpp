// scatter_elements and scatter_nd: a copy of x in which updates replace elements, or are added, multiplied, ... to
// them. Updates of one element are applied in logical order: lines (blocks) that share no element go to different
// workers.

#include "kernels/checks.hpp"
#include "kernels/element_types.hpp"
#include "kernels/families.hpp"
#include "kernels/index_checks.hpp"
#include "kernels/tuples.hpp"

namespace backplane_cpu {
namespace {

enum class Reduction { kNone, kAdd, kMul, kMin, kMax };

Reduction reduction_of(const NodeView& node) {
  const std::string_view name = node.text(BP_ATTR_REDUCTION, "none");
  if (name == "none") return Reduction::kNone;
  check_type(node.input(0), is_number(node.input(0).dtype()), "a number");
  if (name == "add") return Reduction::kAdd;
  if (name == "mul") return Reduction::kMul;
  if (name == "min") return Reduction::kMin;
  require(name == "max", "reduction must be none, add, mul, min or max");
  return Reduction::kMax;
}

template <class T>
T combine(Reduction reduction, T x, T update) {
  const auto a = value_of(x), b = value_of(update);
  using V = Arithmetic<T>;
  switch (reduction) {
    case Reduction::kNone:
      return update;
    case Reduction::kAdd:
      return element_of<T>(static_cast<V>(a) + static_cast<V>(b));
    case Reduction::kMul:
      return element_of<T>(static_cast<V>(a) * static_cast<V>(b));
    case Reduction::kMin:
      return a != a || a < b ? x : update;
    case Reduction::kMax:
      return a != a || a > b ? x : update;
  }
  return update;
}

// Phase 0 copies x, phase 1 applies the updates.
template <class T>
class ScatterKernel : public Kernel {
 public:
  explicit ScatterKernel(const NodeView& node)
      : input_(node.input(0)), output_(node.output(0)), updates_(node.input(2)), reduction_(reduction_of(node)) {}
  uint32_t phases() const override { return 2; }
  uint32_t max_workers() const override { return workers_for(output_.count()); }
  void run(const RunArgs& args) const noexcept override {
    if (args.phase == 1) return updates_.count() == 0 ? void() : update(args);
    const Range range = share(output_.count(), kChunk, args.worker, args.workers);
    copy_elements(input_, args.inputs[0], output_, args.outputs[0], range.begin, range.end);
  }

 protected:
  virtual void update(const RunArgs& args) const = 0;
  void apply(std::byte* target, const std::byte* from) const {
    store_element(target, combine(reduction_, load_element<T>(target), load_element<T>(from)));
  }
  const Walk& updates() const { return updates_; }

 private:
  Walk input_, output_, updates_;
  Reduction reduction_;
};

// A line runs along the axis. Lines of different places write different elements.
template <class T>
class ScatterElementsKernel final : public ScatterKernel<T> {
 public:
  ScatterElementsKernel(const NodeView& node, uint32_t axis)
      : ScatterKernel<T>(node), extent_(node.output(0).shape()[axis]), along_(node.output(0).strides()[axis]) {
    const TensorView indices = node.input(1), updates = node.input(2), y = node.output(0);
    const size_t index_bytes = element_bytes(indices.dtype());
    std::vector<int64_t> shape(indices.shape().begin(), indices.shape().end());
    const auto without_axis = [&](const TensorView& tensor, size_t element) {
      std::vector<int64_t> strides(tensor.strides().begin(), tensor.strides().end());
      strides.erase(strides.begin() + axis);
      return Walk(shape, strides, element);
    };
    line_ = ChunkReader(indices.dtype(), Walk({&shape[axis], 1}, {&indices.strides()[axis], 1}, index_bytes));
    update_stride_ = updates.strides()[axis];
    shape.erase(shape.begin() + axis);
    index_lines_ = without_axis(indices, index_bytes);
    update_lines_ = without_axis(updates, sizeof(T));
    output_lines_ = without_axis(y, sizeof(T));
  }

 private:
  void update(const RunArgs& args) const override {
    const Range range = share(index_lines_.count(), 1, args.worker, args.workers);
    for (int64_t line = range.begin; line < range.end; ++line)
      if (!update_line(args, line)) return args.error->store(kIndexOutside);
  }

  bool update_line(const RunArgs& args, int64_t line) const {
    const std::byte* indices = args.inputs[1] + index_lines_.position(line);
    const std::byte* updates = args.inputs[2] + update_lines_.position(line);
    std::byte* output = args.outputs[0] + output_lines_.position(line);
    alignas(64) std::byte stage[kChunk * 8];
    for (int64_t at = 0; at < line_.walk().count(); at += kChunk) {
      const int64_t count = std::min(kChunk, line_.walk().count() - at);
      const auto* index = static_cast<const int64_t*>(line_.read(indices, at, count, stage));
      for (int64_t i = 0; i < count; ++i) {
        const int64_t place = index[i] < 0 ? index[i] + extent_ : index[i];
        if (place < 0 || place >= extent_) return false;
        this->apply(output + place * along_, updates + (at + i) * update_stride_);
      }
    }
    return true;
  }

  ChunkReader line_;
  Walk index_lines_, update_lines_, output_lines_;
  int64_t extent_, along_, update_stride_ = 0;
};

// Every worker goes through all tuples, for its part of each block.
template <class T>
class ScatterNdKernel final : public ScatterKernel<T> {
 public:
  explicit ScatterNdKernel(const NodeView& node) : ScatterKernel<T>(node), tuples_(node.output(0), node.input(1), 0) {}

 private:
  void update(const RunArgs& args) const override {
    const Walk& block = tuples_.block();
    const Range range = share(block.count(), 16, args.worker, args.workers);
    for (int64_t tuple = 0; tuple < tuples_.count(); ++tuple) {
      const int64_t offset = tuples_.offset(args.inputs[1], tuple);
      if (offset < 0) return args.error->store(kIndexOutside);
      for (int64_t i = range.begin; i < range.end; ++i)
        this->apply(args.outputs[0] + offset + block.position(i),
                    args.inputs[2] + this->updates().position(tuple * block.count() + i));
    }
  }

  Tuples tuples_;
};

// Replacing only moves: elements of one size are alike.
template <template <class> class ScatterOf, class... Args>
Prepared make_scatter(const NodeView& node, Args... args) {
  const auto make = [&](auto element) -> Prepared {
    return {std::make_unique<ScatterOf<decltype(element)>>(node, args...), {}, 0};
  };
  const uint32_t dtype = node.input(0).dtype();
  return reduction_of(node) == Reduction::kNone ? with_bits_type(element_bytes(dtype), make)
                                                : with_number_type(dtype, make);
}

void check_scatter(const NodeView& node) {
  check_signature(node, 3, 3, 1, {BP_ATTR_AXIS, BP_ATTR_REDUCTION});
  check_moves(node);
  check_shape(node.output(0), node.input(0).shape());
  check_type(node.input(2), node.input(2).dtype() == node.input(0).dtype(), "the type of input 0");
}

}  // namespace

Prepared prepare_scatter_elements(const NodeView& node) {
  check_scatter(node);
  const uint32_t axis = check_element_indices(node);
  check_shape(node.input(2), node.input(1).shape());
  return make_scatter<ScatterElementsKernel>(node, axis);
}

Prepared prepare_scatter_nd(const NodeView& node) {
  check_scatter(node);
  check_shape(node.input(2), check_tuples(node, 0));
  return make_scatter<ScatterNdKernel>(node);
}

}  // namespace backplane_cpu
