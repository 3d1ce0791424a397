#include "lean_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>

#include "model_writer.hpp"

namespace backplane::onnx_import {
namespace {

using ::testing::HasSubstr;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string entry(const ::onnx::TensorProto& tensor, const std::string& key) {
  for (const auto& item : tensor.external_data()) {
    if (item.key() == key) return item.value();
  }
  return "";
}

// A model with a large and a small initialiser, and a large constant in a branch of a node.
::onnx::ModelProto example() {
  ::onnx::ModelProto model;
  model.add_opset_import()->set_version(13);
  model.mutable_graph()->add_initializer()->set_raw_data(std::string(100, 'a'));
  model.mutable_graph()->add_initializer()->set_raw_data("small");
  ::onnx::GraphProto* branch = model.mutable_graph()->add_node()->add_attribute()->mutable_g();
  branch->add_node()->add_attribute()->mutable_t()->set_raw_data(std::string(120, 'b'));
  return model;
}

TEST(LeanModel, LargeTensorsStayWhereTheyAre) {
  const std::string whole = example().SerializeAsString();
  const std::optional<std::string> lean = lean_model(bytes_of(whole), 64);
  ASSERT_TRUE(lean.has_value());
  ::onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(*lean));
  EXPECT_EQ(model.graph().initializer(1).raw_data(), "small");
  const auto& in_branch = model.graph().node(0).attribute(0).g().node(0).attribute(0).t();
  for (const auto& [tensor, value] : {std::pair(&model.graph().initializer(0), std::string(100, 'a')),
                                      std::pair(&in_branch, std::string(120, 'b'))}) {
    EXPECT_FALSE(tensor->has_raw_data());
    EXPECT_EQ(tensor->data_location(), ::onnx::TensorProto::EXTERNAL);
    EXPECT_EQ(entry(*tensor, "location"), kThisFile);
    EXPECT_EQ(whole.substr(std::stoul(entry(*tensor, "offset")), std::stoul(entry(*tensor, "length"))), value);
  }
}

TEST(LeanModel, OtherModelsStayAsTheyAre) {
  const std::string whole = example().SerializeAsString();
  EXPECT_FALSE(lean_model(bytes_of(whole), 200).has_value());
  for (size_t length = 0; length < whole.size(); ++length) {  // what is cut off is for protobuf to judge
    const std::optional<std::string> lean = lean_model(bytes_of(whole).first(length), 64);
    EXPECT_TRUE(!lean || ::onnx::ModelProto().ParseFromString(*lean)) << length;
  }
  EXPECT_FALSE(lean_model(bytes_of(std::string(100, '\x0f')), 64).has_value());  // no such kind of field
}

TEST(LeanModel, FieldsAreWhole) {
  const std::string whole = example().SerializeAsString();
  EXPECT_TRUE(check_fields(bytes_of(whole)).ok());
  EXPECT_TRUE(check_fields({}).ok());
  EXPECT_TRUE(check_fields(bytes_of("\x73\x08\x01\x74")).ok());  // a group, which protobuf lets pass
  const Status cut = check_fields(bytes_of(whole).first(whole.size() - 1));
  EXPECT_THAT(cut.message(), HasSubstr("truncated"));
  EXPECT_FALSE(check_fields(bytes_of("\x08\xff")).ok());                                      // a number without an end
  EXPECT_FALSE(check_fields(bytes_of("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")).ok());  // 2^64 - 1 bytes
}

// Weights at an odd address of the file: borrowed as they are, and copied by who computes with them.
TEST(LeanModel, UnalignedWeightsAreRight) {
  const int64_t count = 1 << 15;
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t at = 0; at < values.size(); ++at) values[at] = static_cast<float>(at);
  for (size_t shift = 0; shift < 4; ++shift) {  // one of these is aligned
    const Model model{"",
                      13,
                      std::string(shift, 'p'),
                      {{make_node("Mul", {"w", "w"}, {"s"}), make_node("Add", {"x", "w"}, {"y"}),
                        make_node("ReduceMax", {"s"}, {"m"}, {{"keepdims", int64_t{0}}})},
                       {{"w", f32s({count}, values)}},
                       {make_input("x", DType::kF32, {1})},
                       {"y", "m"}}};
    const auto path = std::filesystem::path(::testing::TempDir()) / "unaligned.onnx";
    std::ofstream(path, std::ios::binary) << write_model(model);
    const auto made = import_onnx(path.string(), {});
    std::filesystem::remove(path);  // what is mapped stays
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    const auto outputs = run_graph(*made->graph, {{"x", f32s({1}, {0.5})}});
    ASSERT_EQ(outputs.size(), 2u);
    EXPECT_EQ(floats(outputs[0])[1000], 1000.5);
    EXPECT_EQ(floats(outputs[1])[0], 32767.0F * 32767.0F);
  }
}

}  // namespace
}  // namespace backplane::onnx_import
