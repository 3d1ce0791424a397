// KernelCase: one node, prepared by prepare_kernel and run on small tensors with several worker counts; for tests.
//
//   KernelCase c(BP_OP_CLIP);
//   c.input(x).absent().input(hi).output(BP_TYPE_F32, {2, 3}).attr(BP_ATTR_AXIS, 1);
//   c.expect({expected_values}, {1e-6, 1e-6});
//
// Every run checks that inputs, the gaps of strided outputs, and guard bytes around outputs and scratch are
// untouched. Outputs and scratch start as garbage, so whatever a kernel forgets to write shows up.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kernels/kernel.hpp"
#include "test_tensor.hpp"

namespace backplane_cpu::testing {

// |actual - expected| <= absolute + relative * |expected|; NaN equals NaN.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

// A bp_graph of one node over given tensors. Owns all pools; not copied while its graph is in use.
struct NodeGraph {
  using Attr = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

  explicit NodeGraph(uint32_t op) { node.op = op; }
  uint32_t add(const TestTensor& tensor, uint32_t flags = 0);  // returns the tensor's index
  void add_attr(uint32_t key, const Attr& value);
  // Valid until the next add. `ins` and `outs` are tensor indices or BP_NONE.
  const bp_graph& finish(const std::vector<uint32_t>& ins, const std::vector<uint32_t>& outs);

  bp_node node{};
  std::vector<bp_tensor> tensors;
  std::vector<bp_attr> attrs;
  std::vector<int64_t> i64;
  std::vector<uint32_t> u32;
  std::vector<double> f64;
  std::string text;
  bp_graph graph{};
};

class KernelCase {
 public:
  explicit KernelCase(uint32_t op) : op_(op) {}
  KernelCase& input(const TestTensor& tensor);
  KernelCase& absent();                             // an optional input that is not there
  KernelCase& output(uint32_t dtype, Shape shape);  // dense
  KernelCase& output(const TestTensor& layout);     // with the strides of `layout`
  KernelCase& unwanted();                           // an output that nobody reads
  KernelCase& attr(uint32_t key, NodeGraph::Attr value);
  KernelCase& attr(uint32_t key, int value) { return attr(key, NodeGraph::Attr(int64_t{value})); }
  KernelCase& attr(uint32_t key, int64_t value) { return attr(key, NodeGraph::Attr(value)); }
  KernelCase& attr(uint32_t key, double value) { return attr(key, NodeGraph::Attr(value)); }
  KernelCase& attr(uint32_t key, const char* value) { return attr(key, NodeGraph::Attr(std::string(value))); }
  KernelCase& version(uint32_t op_version);

  // Prepares, runs with 1 to 4 workers, and compares every wanted output, in order (unwanted ones have no entry).
  void expect(const std::vector<Values>& expected, Tolerance tolerance = {});
  // Prepares and runs once; returns the wanted outputs. A refusal or a data error fails the test. Wherever the kernel
  // allows an output to take over an input's memory, that is tried too, and must give the same bits.
  std::vector<TestTensor> run(uint32_t workers = 1);
  // Runs and returns the text of the kernel's data error, "" if there was none.
  std::string data_error(uint32_t workers = 1);
  // Prepares only; returns why the node is refused, "" if it is not.
  std::string refusal();
  uint64_t alias_mask();

 private:
  Prepared prepare(NodeGraph& graph) const;
  struct Alias {
    size_t output, input;
  };
  std::vector<TestTensor> run_kernel(const Kernel& kernel, uint32_t workers, std::string& error,
                                     std::optional<Alias> alias = {}) const;
  void expect_same_in_place(const Prepared& prepared, uint32_t workers, const std::vector<TestTensor>& results) const;

  uint32_t op_;
  uint32_t op_version_ = 1;
  std::vector<std::optional<TestTensor>> inputs_;
  std::vector<std::optional<TestTensor>> outputs_;
  std::vector<std::pair<uint32_t, NodeGraph::Attr>> attrs_;
};

// Compares element by element and names the first difference.
void expect_values(const TestTensor& actual, const Values& expected, Tolerance tolerance, const std::string& what);

// Steps an index through `shape` in logical order; false after the last.
bool next_index(Shape& index, const Shape& shape);

}  // namespace backplane_cpu::testing
