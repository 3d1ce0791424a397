#include "kernel_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace backplane_cpu::testing {
namespace {

constexpr size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xA5};

// Memory with guard bytes on both sides, 64-byte aligned, filled with garbage.
class Guarded {
 public:
  Guarded(size_t bytes, std::byte garbage) : bytes_(bytes), storage_(bytes + 3 * kGuardBytes, kGuard) {
    const auto base = reinterpret_cast<uintptr_t>(storage_.data());
    data_ = storage_.data() + (64 - base % 64) % 64 + kGuardBytes;
    std::fill_n(data_, bytes, garbage);
  }
  std::byte* data() { return data_; }
  bool intact() const {
    const auto is_guard = [](std::byte b) { return b == kGuard; };
    return std::all_of(storage_.data(), static_cast<const std::byte*>(data_), is_guard) &&
           std::all_of(static_cast<const std::byte*>(data_) + bytes_, storage_.data() + storage_.size(), is_guard);
  }

 private:
  size_t bytes_;
  std::vector<std::byte> storage_;
  std::byte* data_;
};

// Whether all bytes of `tensor` outside its elements are `garbage`.
bool gaps_untouched(const TestTensor& tensor, std::byte garbage) {
  std::vector<bool> used(tensor.memory.size(), false);
  for (int64_t i = 0; i < tensor.elements(); ++i)
    for (size_t b = 0; b < tensor.element_bytes(); ++b) used[tensor.position(i) + b] = true;
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i] && tensor.memory[i] != garbage) return false;
  return true;
}

bool same_layout(const TestTensor& a, const TestTensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides && a.offset == b.offset &&
         a.memory.size() == b.memory.size();
}

std::byte* address(std::byte* base, const TestTensor& tensor) { return base + tensor.offset; }

// All phases, workers one after another in an order that changes, as barriers would allow.
void run_phases(const Kernel& kernel, RunArgs args) {
  const uint32_t active = std::min(args.workers, std::max(kernel.max_workers(), 1u));
  args.workers = active;
  for (args.phase = 0; args.phase < kernel.phases(); ++args.phase) {
    for (uint32_t i = 0; i < active; ++i) {
      args.worker = args.phase % 2 == 0 ? active - 1 - i : i;
      kernel.run(args);
    }
  }
}

}  // namespace

uint32_t NodeGraph::add(const TestTensor& tensor, uint32_t flags) {
  bp_tensor record{};
  record.dtype = tensor.dtype;
  record.rank = static_cast<uint32_t>(tensor.shape.size());
  record.shape_at = static_cast<uint32_t>(i64.size());
  i64.insert(i64.end(), tensor.shape.begin(), tensor.shape.end());
  record.stride_at = static_cast<uint32_t>(i64.size());
  i64.insert(i64.end(), tensor.strides.begin(), tensor.strides.end());
  record.flags = flags;
  record.view_of = BP_NONE;
  record.name_at = BP_NONE;
  record.offset = tensor.offset;
  record.bytes = tensor.memory.size() - tensor.offset;
  tensors.push_back(record);
  return static_cast<uint32_t>(tensors.size() - 1);
}

void NodeGraph::add_attr(uint32_t key, const Attr& value) {
  bp_attr record{};
  record.key = key;
  record.type = static_cast<uint32_t>(value.index()) + BP_ATTR_TYPE_I64;
  if (const auto* i = std::get_if<int64_t>(&value)) record.i = *i;
  if (const auto* f = std::get_if<double>(&value)) record.f = *f;
  const auto list = [&record](auto& pool, const auto& items) {
    record.at = static_cast<uint32_t>(pool.size());
    record.count = items.size();
    pool.insert(pool.end(), items.begin(), items.end());
  };
  if (const auto* s = std::get_if<std::string>(&value)) list(text, *s);
  if (const auto* l = std::get_if<std::vector<int64_t>>(&value)) list(i64, *l);
  if (const auto* l = std::get_if<std::vector<double>>(&value)) list(f64, *l);
  attrs.push_back(record);
}

const bp_graph& NodeGraph::finish(const std::vector<uint32_t>& ins, const std::vector<uint32_t>& outs) {
  u32 = ins;
  u32.insert(u32.end(), outs.begin(), outs.end());
  if (node.op_version == 0) node.op_version = 1;
  node.in_count = static_cast<uint32_t>(ins.size());
  node.out_at = node.in_count;
  node.out_count = static_cast<uint32_t>(outs.size());
  node.attr_count = static_cast<uint32_t>(attrs.size());
  graph = {};
  graph.head = {sizeof(bp_graph), BP_KIND_GRAPH, nullptr};
  graph.tensor_count = static_cast<uint32_t>(tensors.size());
  graph.tensor_stride = sizeof(bp_tensor);
  graph.node_count = 1;
  graph.node_stride = sizeof(bp_node);
  graph.attr_count = node.attr_count;
  graph.attr_stride = sizeof(bp_attr);
  graph.tensors = tensors.data();
  graph.nodes = &node;
  graph.attrs = attrs.data();
  graph.i64 = i64.data();
  graph.i64_count = i64.size();
  graph.u32 = u32.data();
  graph.u32_count = u32.size();
  graph.f64 = f64.data();
  graph.f64_count = f64.size();
  graph.text = text.data();
  graph.text_bytes = text.size();
  return graph;
}

KernelCase& KernelCase::input(const TestTensor& tensor) {
  inputs_.emplace_back(tensor);
  return *this;
}

KernelCase& KernelCase::absent() {
  inputs_.emplace_back();
  return *this;
}

KernelCase& KernelCase::output(uint32_t dtype, Shape shape) { return output(TestTensor(dtype, std::move(shape))); }

KernelCase& KernelCase::output(const TestTensor& layout) {
  outputs_.emplace_back(layout);
  return *this;
}

KernelCase& KernelCase::unwanted() {
  outputs_.emplace_back();
  return *this;
}

KernelCase& KernelCase::attr(uint32_t key, NodeGraph::Attr value) {
  attrs_.emplace_back(key, std::move(value));
  return *this;
}

KernelCase& KernelCase::version(uint32_t op_version) {
  op_version_ = op_version;
  return *this;
}

Prepared KernelCase::prepare(NodeGraph& graph) const {
  graph.node.op_version = op_version_;
  const auto add_all = [&graph](const std::vector<std::optional<TestTensor>>& tensors) {
    std::vector<uint32_t> indices;
    for (const auto& tensor : tensors) indices.push_back(tensor ? graph.add(*tensor) : BP_NONE);
    return indices;
  };
  const std::vector<uint32_t> ins = add_all(inputs_), outs = add_all(outputs_);
  for (const auto& [key, value] : attrs_) graph.add_attr(key, value);
  const bp_graph& built = graph.finish(ins, outs);
  backplane::sdk::GraphView::check(&built);
  return prepare_kernel(NodeView(built, 0));
}

std::vector<TestTensor> KernelCase::run_kernel(const Kernel& kernel, uint32_t workers, std::string& error,
                                               std::optional<Alias> alias) const {
  const std::byte garbage{static_cast<unsigned char>(0xC0 + workers * 15)};
  std::vector<TestTensor> inputs;
  std::vector<std::byte*> in, out;
  for (const auto& tensor : inputs_) inputs.push_back(tensor.value_or(TestTensor(BP_TYPE_U8, {0})));
  for (size_t i = 0; i < inputs.size(); ++i)
    in.push_back(inputs_[i] ? address(inputs[i].memory.data(), inputs[i]) : nullptr);
  std::vector<Guarded> memory;
  for (const auto& tensor : outputs_) memory.emplace_back(tensor ? tensor->memory.size() : 0, garbage);
  for (size_t i = 0; i < outputs_.size(); ++i)
    out.push_back(outputs_[i] ? address(memory[i].data(), *outputs_[i]) : nullptr);
  if (alias) {
    std::ranges::copy(inputs[alias->input].memory, memory[alias->output].data());
    in[alias->input] = out[alias->output];
  }
  const uint32_t active = std::min(workers, std::max(kernel.max_workers(), 1u));
  Guarded scratch(kernel.scratch_bytes(active), std::byte{0xFF});
  std::atomic<const char*> failure{nullptr};
  run_phases(kernel, {in.data(), out.data(), scratch.data(), &failure, 0, 0, workers});
  if (failure.load() != nullptr) error = failure.load();

  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_TRUE(!inputs_[i] || inputs[i].memory == inputs_[i]->memory) << "input " << i << " was written";
  EXPECT_TRUE(scratch.intact()) << "a write outside the scratch of " << workers << " workers";
  std::vector<TestTensor> results;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    EXPECT_TRUE(memory[i].intact()) << "a write outside output " << i;
    if (!outputs_[i]) continue;
    results.push_back(*outputs_[i]);
    std::copy_n(memory[i].data(), results.back().memory.size(), results.back().memory.begin());
    const bool has_input = alias && alias->output == i;
    EXPECT_TRUE(has_input || gaps_untouched(results.back(), garbage)) << "a write into the gaps of output " << i;
  }
  return results;
}

std::vector<TestTensor> KernelCase::run(uint32_t workers) {
  NodeGraph graph(op_);
  const Prepared prepared = prepare(graph);
  if (prepared.kernel == nullptr) {
    ADD_FAILURE() << backplane::sdk::op_name(op_) << " was refused: " << prepared.refusal;
    return {};
  }
  std::string error;
  std::vector<TestTensor> results = run_kernel(*prepared.kernel, workers, error);
  EXPECT_EQ(error, "") << "a data error";
  expect_same_in_place(prepared, workers, results);
  return results;
}

void KernelCase::expect_same_in_place(const Prepared& prepared, uint32_t workers,
                                      const std::vector<TestTensor>& results) const {
  constexpr size_t kMasked = 8;  // operands of alias_mask
  size_t wanted = 0;             // results are of the wanted outputs
  for (size_t k = 0; k < std::min(outputs_.size(), kMasked); ++k) {
    if (!outputs_[k]) continue;
    for (size_t j = 0; j < std::min(inputs_.size(), kMasked); ++j) {
      const bool allowed = (prepared.alias_mask >> (kMasked * k + j) & 1) != 0;
      if (!allowed || !inputs_[j] || !same_layout(*inputs_[j], *outputs_[k])) continue;
      std::string error;
      const std::vector<TestTensor> again = run_kernel(*prepared.kernel, workers, error, Alias{k, j});
      EXPECT_EQ(error, "") << "a data error";
      for (int64_t i = 0; i < results[wanted].elements(); ++i)
        ASSERT_EQ(
            std::memcmp(again[wanted].memory.data() + again[wanted].position(i),
                        results[wanted].memory.data() + results[wanted].position(i), results[wanted].element_bytes()),
            0)
            << backplane::sdk::op_name(op_) << ": element " << i << " of output " << k << " over input " << j
            << " differs";
    }
    ++wanted;
  }
}

void KernelCase::expect(const std::vector<Values>& expected, Tolerance tolerance) {
  for (uint32_t workers = 1; workers <= 4; ++workers) {
    const std::vector<TestTensor> results = run(workers);
    ASSERT_EQ(results.size(), expected.size());
    for (size_t i = 0; i < results.size(); ++i) {
      expect_values(results[i], expected[i], tolerance,
                    std::string(backplane::sdk::op_name(op_)) + " output " + std::to_string(i) + ", " +
                        std::to_string(workers) + " workers");
    }
    if (::testing::Test::HasFailure()) return;
  }
}

std::string KernelCase::data_error(uint32_t workers) {
  NodeGraph graph(op_);
  const Prepared prepared = prepare(graph);
  std::string error;
  if (prepared.kernel == nullptr) return "refused: " + prepared.refusal;
  run_kernel(*prepared.kernel, workers, error);
  return error;
}

std::string KernelCase::refusal() {
  NodeGraph graph(op_);
  const Prepared prepared = prepare(graph);
  EXPECT_EQ(prepared.kernel == nullptr, !prepared.refusal.empty());
  return prepared.refusal;
}

uint64_t KernelCase::alias_mask() {
  NodeGraph graph(op_);
  return prepare(graph).alias_mask;
}

void expect_values(const TestTensor& actual, const Values& expected, Tolerance tolerance, const std::string& what) {
  ASSERT_EQ(static_cast<size_t>(actual.elements()), expected.size()) << what;
  for (int64_t i = 0; i < actual.elements(); ++i) {
    const double a = actual.get(i), e = expected[static_cast<size_t>(i)];
    const bool same = a == e || (std::isnan(a) && std::isnan(e)) ||
                      std::fabs(a - e) <= tolerance.absolute + tolerance.relative * std::fabs(e);
    if (same) continue;
    ADD_FAILURE() << what << ": element " << i << " is " << a << ", wanted " << e << " (difference " << a - e << ")";
    return;
  }
}

bool next_index(Shape& index, const Shape& shape) {
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (++index[axis] < shape[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

}  // namespace backplane_cpu::testing
