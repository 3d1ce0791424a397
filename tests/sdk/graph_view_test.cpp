#include "backplane/sdk/graph_view.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace backplane::sdk {
namespace {

// c = concat(a, b) of f32[2, 3] with an attribute of each pool type, and a view of c. Every array is its own heap
// block of exact size, so that AddressSanitizer sees a read beyond it.
struct Sample {
  Sample() {
    for (uint32_t i = 0; i < 4; ++i) {
      bp_tensor t{};
      t.dtype = BP_TYPE_F32;
      t.rank = 2;
      t.shape_at = 0;
      t.stride_at = 2;
      t.view_of = i == 3 ? 2 : BP_NONE;
      t.name_at = i == 0 ? 0 : BP_NONE;
      t.bytes = 24;
      tensors.push_back(t);
    }
    bp_node n{};
    n.op = BP_OP_CONCAT;
    n.op_version = 1;
    n.in_count = 2;
    n.out_at = 2;
    n.out_count = 1;
    n.attr_count = 6;
    nodes.push_back(n);
    add_attr(BP_ATTR_AXIS, BP_ATTR_TYPE_I64, 0, 0);
    add_attr(BP_ATTR_ALPHA, BP_ATTR_TYPE_F64, 0, 0);
    add_attr(BP_ATTR_MODE, BP_ATTR_TYPE_TEXT, 0, 1);
    add_attr(BP_ATTR_AXES, BP_ATTR_TYPE_I64S, 0, 4);
    add_attr(BP_ATTR_SCALES, BP_ATTR_TYPE_F64S, 0, 2);
    add_attr(BP_ATTR_ROI, BP_ATTR_TYPE_BLOB, 0, 3);
  }
  void add_attr(uint32_t key, uint32_t type, uint32_t at, uint64_t count) {
    bp_attr a{};
    a.key = key;
    a.type = type;
    a.at = at;
    a.count = count;
    attrs.push_back(a);
  }
  const bp_graph* finish() {
    graph.head = {sizeof(bp_graph), BP_KIND_GRAPH, nullptr};
    graph.tensor_count = static_cast<uint32_t>(tensors.size());
    graph.node_count = static_cast<uint32_t>(nodes.size());
    graph.attr_count = static_cast<uint32_t>(attrs.size());
    graph.tensor_stride = sizeof(bp_tensor);
    graph.node_stride = sizeof(bp_node);
    graph.attr_stride = sizeof(bp_attr);
    graph.in_count = 2;
    graph.out_at = 2;
    graph.out_count = 1;
    graph.tensors = tensors.data();
    graph.nodes = nodes.data();
    graph.attrs = attrs.data();
    graph.i64 = i64.data();
    graph.i64_count = i64.size();
    graph.u32 = u32.data();
    graph.u32_count = u32.size();
    graph.f64 = f64.data();
    graph.f64_count = f64.size();
    graph.text = text.data();
    graph.text_bytes = text.size();
    graph.blob = blob.data();
    graph.blob_bytes = blob.size();
    return &graph;
  }

  std::vector<bp_tensor> tensors;
  std::vector<bp_node> nodes;
  std::vector<bp_attr> attrs;
  std::vector<int64_t> i64{2, 3, 12, 4};
  std::vector<uint32_t> u32{0, 1, 2};
  std::vector<double> f64{0.5, 1.5};
  std::vector<char> text{'a', '\0'};
  std::vector<uint8_t> blob{7, 8, 9};
  bp_graph graph{};
};

TEST(GraphView, AcceptsAndReadsAGoodGraph) {
  Sample sample;
  const GraphView view = GraphView::check(sample.finish());
  const NodeView node = view.node(0);
  EXPECT_EQ(node.input_count(), 2u);
  EXPECT_EQ(node.output_index(0), 2u);
  EXPECT_EQ(node.input(0).name(), "a");
  EXPECT_EQ(node.input(0).elements(), 6);
  EXPECT_TRUE(node.input(0).dense());
  EXPECT_TRUE(view.tensor(3).is_view());
  EXPECT_EQ(node.text(BP_ATTR_MODE, ""), "a");
  EXPECT_EQ(node.i64s(BP_ATTR_AXES).size(), 4u);
  EXPECT_EQ(node.f64s(BP_ATTR_SCALES)[1], 1.5);
  EXPECT_EQ(node.i64(BP_ATTR_KEEPDIMS, 5), 5);
  EXPECT_THROW(node.f64(BP_ATTR_AXIS, 0), Error) << "another type than asked for";
}

TEST(GraphView, SeesStridesThatAreNotDense) {
  Sample sample;
  sample.i64[2] = 16;
  EXPECT_FALSE(GraphView::check(sample.finish()).tensor(0).dense());
}

TEST(GraphView, NamesTheAttributeThatIsNeitherKnownNorIgnorable) {
  Sample sample;
  for (size_t i = 1; i < 5; ++i) sample.attrs[i].flags = BP_ATTR_FLAG_IGNORABLE;
  const uint32_t known[] = {BP_ATTR_AXIS};
  const NodeView node = GraphView::check(sample.finish()).node(0);
  ASSERT_NE(node.unknown_attr(known), nullptr);
  EXPECT_EQ(node.unknown_attr(known)->key, uint32_t{BP_ATTR_ROI});
}

struct Fault {
  const char* name;
  void (*before)(Sample&);   // applied to the arrays
  void (*after)(bp_graph&);  // applied to the record
};
void nothing(Sample&) {}
void nothing(bp_graph&) {}
constexpr uint32_t kFar = 0xFFFFFFF0u;

const Fault kFaults[] = {
    {"kind", nothing, [](bp_graph& g) { g.head.kind = BP_KIND_OPENED; }},
    {"size", nothing, [](bp_graph& g) { g.head.size = sizeof(bp_graph) - 8; }},
    {"tensor_stride", nothing, [](bp_graph& g) { g.tensor_stride = sizeof(bp_tensor) - 8; }},
    {"node_stride", nothing, [](bp_graph& g) { g.node_stride = 0; }},
    {"attr_stride", nothing, [](bp_graph& g) { g.attr_stride = 8; }},
    {"odd_stride", nothing, [](bp_graph& g) { g.node_stride = sizeof(bp_node) + 4; }},
    {"null_tensors", nothing, [](bp_graph& g) { g.tensors = nullptr; }},
    {"null_nodes", nothing, [](bp_graph& g) { g.nodes = nullptr; }},
    {"null_attrs", nothing, [](bp_graph& g) { g.attrs = nullptr; }},
    {"null_i64", nothing, [](bp_graph& g) { g.i64 = nullptr; }},
    {"null_u32", nothing, [](bp_graph& g) { g.u32 = nullptr; }},
    {"null_f64", nothing, [](bp_graph& g) { g.f64 = nullptr; }},
    {"null_text", nothing, [](bp_graph& g) { g.text = nullptr; }},
    {"null_blob", nothing, [](bp_graph& g) { g.blob = nullptr; }},
    {"graph_in_at", nothing, [](bp_graph& g) { g.in_at = 2; }},
    {"graph_out_at", nothing, [](bp_graph& g) { g.out_at = kFar; }},
    {"graph_out_count", nothing, [](bp_graph& g) { g.out_count = 2; }},
    {"shape_at", [](Sample& s) { s.tensors[1].shape_at = 3; }, nothing},
    {"shape_at_far", [](Sample& s) { s.tensors[1].shape_at = kFar; }, nothing},
    {"stride_at", [](Sample& s) { s.tensors[1].stride_at = kFar; }, nothing},
    {"rank", [](Sample& s) { s.tensors[1].rank = 5; }, nothing},
    {"rank_far", [](Sample& s) { s.tensors[1].rank = BP_NONE; }, nothing},
    {"negative_extent", [](Sample& s) { s.i64[0] = -1; }, nothing},
    {"negative_stride", [](Sample& s) { s.i64[3] = -4; }, nothing},
    {"too_many_elements", [](Sample& s) { s.i64[0] = s.i64[1] = int64_t{1} << 40; }, nothing},
    {"part_of_a_block", [](Sample& s) { s.tensors[1].dtype = BP_TYPE_Q8_0; }, nothing},
    {"view_of_missing", [](Sample& s) { s.tensors[3].view_of = 4; }, nothing},
    {"view_of_view", [](Sample& s) { s.tensors[1].view_of = 3; }, nothing},
    {"view_of_itself", [](Sample& s) { s.tensors[3].view_of = 3; }, nothing},
    {"name_at", [](Sample& s) { s.tensors[0].name_at = 2; }, nothing},
    {"name_without_end", [](Sample& s) { s.text[1] = 'b'; }, nothing},
    {"in_at", [](Sample& s) { s.nodes[0].in_at = 2; }, nothing},
    {"in_count", [](Sample& s) { s.nodes[0].in_count = kFar; }, nothing},
    {"out_at", [](Sample& s) { s.nodes[0].out_at = 3; }, nothing},
    {"out_count", [](Sample& s) { s.nodes[0].out_count = 2; }, nothing},
    {"missing_tensor", [](Sample& s) { s.u32[1] = 4; }, nothing},
    {"attr_at", [](Sample& s) { s.nodes[0].attr_at = 1; }, nothing},
    {"attr_count", [](Sample& s) { s.nodes[0].attr_count = kFar; }, nothing},
    {"attr_text", [](Sample& s) { s.attrs[2].count = 3; }, nothing},
    {"attr_i64s", [](Sample& s) { s.attrs[3].at = 1; }, nothing},
    {"attr_f64s", [](Sample& s) { s.attrs[4].count = ~0ull; }, nothing},
    {"attr_blob", [](Sample& s) { s.attrs[5].at = 4; }, nothing},
};

class GraphFaults : public testing::TestWithParam<Fault> {};

TEST_P(GraphFaults, AreRefused) {
  Sample sample;
  GetParam().before(sample);
  sample.finish();
  GetParam().after(sample.graph);
  try {
    GraphView::check(&sample.graph);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), BP_E_INVALID_ARG);
    EXPECT_NE(std::string(error.what()).find("malformed graph"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Check, GraphFaults, testing::ValuesIn(kFaults),
                         [](const auto& fault) { return std::string(fault.param.name); });

TEST(GraphView, AcceptsAbsentOperands) {
  Sample sample;
  sample.u32[1] = BP_NONE;
  const bp_graph* graph = sample.finish();
  sample.graph.in_count = 1;
  const NodeView node = GraphView::check(graph).node(0);
  EXPECT_TRUE(node.has_input(0));
  EXPECT_FALSE(node.has_input(1));
  EXPECT_FALSE(node.has_input(2));
}

TEST(GraphView, RefusesNull) { EXPECT_THROW(GraphView::check(nullptr), Error); }

}  // namespace
}  // namespace backplane::sdk
