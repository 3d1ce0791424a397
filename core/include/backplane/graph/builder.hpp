// GraphBuilder: makes Graphs, inferring every shape and type.
//
// Functions return the new tensor, or an error that names the op, the input and the shapes; a failed call leaves the
// builder as it was. Views (reshape, permute, slice ...) cost nothing at run time; where a view is not possible
// (reshape of a tensor that is not dense) a copy node is put in. Thread safety: one builder, one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/attrs.hpp"
#include "backplane/graph/graph.hpp"

namespace backplane {

class GraphBuilder {
 public:
  GraphBuilder();
  ~GraphBuilder();
  GraphBuilder(GraphBuilder&&) noexcept;
  GraphBuilder& operator=(GraphBuilder&&) noexcept;

  // ---- leaves
  // A tensor that the host writes before each run. Errors: a name that is taken, a bad shape.
  Result<TensorId> input(std::string name, DType dtype, std::span<const int64_t> shape);
  // A constant. The value is shared, not copied.
  Result<TensorId> constant(HostTensor value, std::string name = {});
  // A tensor kept between runs and written in place by nodes made with node_into; starts as zeros.
  Result<TensorId> state(std::string name, DType dtype, std::span<const int64_t> shape);

  // ---- ops
  // One node with one output. `inputs` may hold kNone for absent optional inputs.
  Result<TensorId> op(Op op, std::span<const TensorId> inputs, const AttrList& attrs = {}, std::string name = {});
  Result<TensorId> op(Op op, std::initializer_list<TensorId> inputs, const AttrList& attrs = {},
                      std::string name = {}) {
    return this->op(op, std::span(inputs.begin(), inputs.size()), attrs, std::move(name));
  }
  // One node with all its outputs; `wanted` says which to make (others are kNone).
  Result<std::vector<TensorId>> node(Op op, std::span<const TensorId> inputs, const AttrList& attrs,
                                     std::span<const bool> wanted, std::string name = {});
  // One node that writes its output 0 into `target` (a state tensor or a view of one) of the inferred shape and type,
  // and gives `target` back. It runs even if nothing reads it. Inputs that overlap the target are copied first, but for
  // the target itself as input 0 of set_rows, which then writes rows and leaves the others.
  Result<TensorId> node_into(TensorId target, Op op, std::span<const TensorId> inputs, const AttrList& attrs = {},
                             std::string name = {});

  // ---- views
  Result<TensorId> reshape(TensorId x, std::span<const int64_t> shape);  // no -1: extents are known here
  Result<TensorId> permute(TensorId x, std::span<const int64_t> order);  // y axis i is x axis order[i]
  // Elements start, start+step, ... (count of them) of one axis; step >= 1.
  Result<TensorId> slice(TensorId x, int64_t axis, int64_t start, int64_t count, int64_t step = 1);
  Result<TensorId> broadcast(TensorId x, std::span<const int64_t> shape);  // NumPy rules, stride 0
  // x itself if it is dense, else a copy node.
  Result<TensorId> dense(TensorId x);

  // ---- questions; of a tensor that there is not: DType{}, no axes, "no tensor 7", a null tensor
  DType dtype(TensorId x) const;
  std::vector<int64_t> shape(TensorId x) const;
  std::string tensor_text(TensorId x) const;  // "name: f32 [1, 3]"
  // The dense value of a constant or of a view of one; a null tensor if x is not constant.
  HostTensor constant_value(TensorId x) const;

  // Makes x a graph output under a name. Errors: a name that is taken.
  Status output(TensorId x, std::string name);
  // Finishes: drops nodes and constants that no output needs (inputs stay), and hashes. The builder is then empty.
  Result<std::shared_ptr<const Graph>> finish();

 private:
  struct State;
  struct NodeMaker;
  struct Finisher;
  Result<std::vector<TensorId>> separate_from(TensorId target, Op op, std::span<const TensorId> inputs);
  std::unique_ptr<State> state_;
};

}  // namespace backplane
