// What a device promises, it must do right: random nodes of every op, by the CPU plugin and by the reference.
//
// A case is one node. The device is asked; where it says NO, the reason is counted; where it says YES or SLOW, a
// Session runs the node and its outputs are compared with the reference's.
//   BACKPLANE_CONFORMANCE_CASES  cases per op (default 40)
//   BACKPLANE_CONFORMANCE_SEED   seed of the first case, the next has the next number (default 1); a failure names its
//                                seed, so that CASES=1 and SEED=<it> repeat one case
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>

#include "backplane/base/text.hpp"
#include "backplane/graph/inference.hpp"
#include "backplane/reference/reference.hpp"
#include "backplane/runtime/runtime.hpp"
#include "backplane/scheduler/session.hpp"
#include "families.hpp"

namespace backplane::testing {
namespace {

uint64_t number_from_environment(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

std::vector<OpUnderTest> all_ops() {
  std::vector<OpUnderTest> all;
  for (const auto family : {movement_ops(), index_ops(), unary_ops(), binary_ops(), reduction_ops(), linear_ops(),
                            window_ops(), norm_ops(), recurrent_ops(), attention_ops(), quantize_ops()})
    all.insert(all.end(), family.begin(), family.end());
  return all;
}

// "add x0: f32 [2, 3], ...; axis = 1": what a failure is reported with.
std::string describe(const Graph& graph, const AttrList& attrs) {
  std::vector<std::string> parts;
  const NodeId last = graph.node_count() - 1;
  for (const TensorId id : graph.node_inputs(last))
    parts.push_back(id == kNone ? "absent" : cat(graph.tensor_text(id), " strides ", shape_text(graph.strides(id))));
  std::string text = cat(op_name(graph.op(last)), ": ", join(parts, ", "), ";");
  for (const Attr& attr : attrs.items()) {
    text += cat(" ", attr_name(attr.key), " = ");
    if (const auto* integer = std::get_if<int64_t>(&attr.value)) text += cat(*integer);
    if (const auto* real = std::get_if<double>(&attr.value)) text += cat(*real);
    if (const auto* word = std::get_if<std::string>(&attr.value)) text += *word;
    if (const auto* list = std::get_if<std::vector<int64_t>>(&attr.value)) text += shape_text(*list);
    if (const auto* reals = std::get_if<std::vector<double>>(&attr.value))
      for (const double value : *reals) text += cat(value, " ");
  }
  return text;
}

std::string name_of(const OpUnderTest& one) { return std::string(op_name(one.op)); }

class Conformance : public ::testing::TestWithParam<OpUnderTest> {
 protected:
  static void SetUpTestSuite() {
    RuntimeOptions options;
    options.plugin_paths = {PLUGIN_FOLDER};
    options.search_system = false;
    options.worker_count = 3;
    auto runtime = Runtime::open(std::move(options));
    ASSERT_TRUE(runtime.ok()) << runtime.status().to_string();
    runtime_ = std::move(runtime).value();
  }
  static void TearDownTestSuite() { runtime_.reset(); }

  void run_case(uint64_t seed);
  void print_counts() const;

  static std::unique_ptr<Runtime> runtime_;
  uint32_t fast_ = 0, slow_ = 0;
  uint32_t natural_ = 0;  // of fast_, in the op's natural type
  std::map<std::string, uint32_t> refusals_;

 private:
  void compare(const std::shared_ptr<const Graph>& graph, const NodeCase& node, Device& device);
};
std::unique_ptr<Runtime> Conformance::runtime_;

void Conformance::compare(const std::shared_ptr<const Graph>& graph, const NodeCase& node, Device& device) {
  const auto wanted = reference::run(*graph, node.inputs);
  auto session = Session::prepare(*runtime_, graph, {&device});
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  for (const auto& [name, value] : node.inputs) {
    const Status set = (*session)->set_input(name, value);
    ASSERT_TRUE(set.ok()) << set.to_string();
  }
  const Status run = (*session)->run();
  ASSERT_EQ(code_name(run.code()), code_name(wanted.status().code()))
      << "device: " << run.to_string() << "; reference: " << wanted.status().to_string();
  if (!run.ok()) return;
  for (size_t i = 0; i < wanted->size(); ++i) {
    const std::string& name = graph->outputs()[i].name;
    const auto found = (*session)->output(name);
    ASSERT_TRUE(found.ok()) << found.status().to_string();
    EXPECT_EQ(difference(*found, (*wanted)[i], node.tolerance), "") << name;
  }
}

void Conformance::run_case(uint64_t seed) {
  NodeCase node(GetParam().op, seed);
  GetParam().make(node);
  const DType first_type = node.first_type();
  auto graph = node.finish();
  ASSERT_TRUE(graph.ok()) << "seed " << seed << ": " << graph.status().to_string();
  SCOPED_TRACE(cat("seed ", seed, ": ", describe(**graph, node.attrs)));
  Device& device = *runtime_->device("cpu0").value();
  const auto answers = device.query((*graph)->abi());
  ASSERT_TRUE(answers.ok()) << answers.status().to_string();
  const NodeAnswer answer = (*answers)[answers->size() - 1];
  if (!answer.runs()) {
    EXPECT_NE(answer.reason, "");
    ++refusals_[std::string(answer.reason)];
    return;
  }
  const bool fast = answer.verdict == BP_VERDICT_YES;
  ++(fast ? fast_ : slow_);
  if (fast && first_type == GetParam().natural) ++natural_;
  compare(*graph, node, device);
}

void Conformance::print_counts() const {
  uint32_t refused = 0;
  for (const auto& [reason, count] : refusals_) refused += count;
  std::cout << op_name(GetParam().op) << ": " << fast_ + slow_ << " compared (" << slow_ << " slow), " << refused
            << " refused\n";
  for (const auto& [reason, count] : refusals_) std::cout << "  " << count << " x " << reason << "\n";
}

TEST_P(Conformance, DeviceGivesTheReferenceResult) {
  constexpr int kMostFailures = 5;  // one cause often fails many cases
  const uint64_t first = number_from_environment("BACKPLANE_CONFORMANCE_SEED", 1);
  const uint64_t count = number_from_environment("BACKPLANE_CONFORMANCE_CASES", 40);
  int failures = 0;
  for (uint64_t seed = first; seed < first + count && failures < kMostFailures; ++seed) {
    const int before = ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
    run_case(seed);
    failures += ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count() > before;
  }
  print_counts();
  if (count == 1) return;
  EXPECT_GT(natural_, 0u) << "no node of type " << type_name(GetParam().natural) << " was run fast";
}

INSTANTIATE_TEST_SUITE_P(Op, Conformance, ::testing::ValuesIn(all_ops()),
                         [](const auto& instance) { return name_of(instance.param); });

TEST(ConformanceOps, EveryDefinedOpIsUnderTest) {
  static constexpr Op kEvery[] = {
#define BP_OP(NAME, id, name, version) Op::k##NAME,
#include "backplane/abi/ops.def"
#undef BP_OP
  };
  const std::vector<OpUnderTest> tested = all_ops();
  for (const Op op : kEvery) {
    const auto matches = std::count_if(tested.begin(), tested.end(), [op](const auto& one) { return one.op == op; });
    const bool defined = infer(op, {}, {}).status().code() != Code::unimplemented;
    EXPECT_EQ(matches, defined ? 1 : 0) << op_name(op);
  }
}

}  // namespace
}  // namespace backplane::testing
