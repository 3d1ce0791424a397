// Files and requests that must be refused, with a message that helps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "model_writer.hpp"

namespace backplane::onnx_import {
namespace {

using ::testing::HasSubstr;

Model add_model() {
  return {"",
          13,
          "",
          {{make_node("Add", {"pixels", "c"}, {"y"})},
           {{"c", f32s({128}, std::vector<float>(128, 1))}},
           {make_input("pixels", DType::kF32, {128})},
           {"y"}}};
}

Status import_bytes(const std::string& bytes, const std::string& folder = "") {
  return import_onnx_bytes(bytes, "test.onnx", folder, {}).status();
}

TEST(OnnxErrors, TruncatedAnywhere) {
  const std::string bytes = write_model(add_model());
  ASSERT_TRUE(import_bytes(bytes).ok());
  for (size_t length = 0; length < bytes.size(); length += 64) {
    const Status status = import_bytes(bytes.substr(0, length));
    EXPECT_EQ(status.code(), Code::invalid_argument) << length;
    EXPECT_THAT(status.message(), HasSubstr("test.onnx"));
  }
}

TEST(OnnxErrors, NotOnnx) {
  EXPECT_THAT(import_bytes("").message(), HasSubstr("empty"));
  EXPECT_THAT(import_bytes("this is no model at all").message(), HasSubstr("not an ONNX model"));
  EXPECT_EQ(import_onnx("no/such/file.onnx", {}).status().code(), Code::not_found);
}

TEST(OnnxErrors, OpsetOutsideTheRange) {
  for (const int64_t opset : {0, 23}) {
    Model model = add_model();
    model.opset = opset;
    EXPECT_THAT(import_model(model).status().message(), HasSubstr("opset " + std::to_string(opset)));
  }
}

TEST(OnnxErrors, AbsurdSizesCostNoMemory) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{int64_t{1} << 40}, {INT64_MAX, INT64_MAX}, {-4}}) {
    EXPECT_EQ(import_bytes(write_model(add_model(), {"", "", "", shape})).code(), Code::invalid_argument) << shape[0];
  }
}

TEST(OnnxErrors, AllUnsupportedOpsAtOnce) {
  const auto body = std::make_shared<const GraphDef>(GraphDef{{make_node("Unheard", {"b"}, {"c"})}, {}, {}, {"c"}});
  Model model{"",
              13,
              "",
              {{make_node("Frobnicate", {"x"}, {"a"}), make_node("NonZero", {"x"}, {"b"}),
                make_node("Attention", {"a"}, {"y"}), make_node("Loop", {"", "", "b"}, {"l"}, {{"body", body}})},
               {},
               {make_input("x", DType::kF32, {17})},
               {"y"}}};
  model.graph.nodes[2].domain = "com.example";
  const Status status = import_model(model).status();
  EXPECT_EQ(status.code(), Code::unimplemented);
  for (const char* part :
       {"Frobnicate (opset 13) in 1 node: 'make_a'", "NonZero", "com.example.Attention", "Unheard"}) {
    EXPECT_THAT(status.message(), HasSubstr(part));
  }
}

TEST(OnnxErrors, WrongNameTypeAndShape) {
  const auto message = [](const OnnxImportOptions& options) {
    const auto made = import_model(add_model(), options);
    EXPECT_EQ(made.status().code(), Code::invalid_argument);
    return made.status().message();
  };
  EXPECT_THAT(message({{{"pixel", {128}}}, {}}), HasSubstr("did you mean 'pixels'"));
  EXPECT_THAT(message({{}, {{"pixels", i64s({1}, {1})}}}), HasSubstr("type f32"));
  EXPECT_THAT(message({{{"pixels", {127}}}, {}}), HasSubstr("[127]"));
  EXPECT_THAT(message({{{"pixels", {128, 1}}}, {}}), HasSubstr("[128, 1]"));
}

TEST(OnnxErrors, OpenDimensionsOfAllInputs) {
  OnnxInput any = make_input("z", DType::kF32, {});
  any.has_shape = false;
  const Model model{
      "", 13, "", {{make_node("Neg", {"x"}, {"y"})}, {}, {make_input("x", DType::kF32, {-1, 3, -1}), any}, {"y"}}};
  const Status status = import_model(model).status();
  EXPECT_THAT(status.message(), HasSubstr("x: f32 [d0, 3, d2] (axes 0, 2)"));
  EXPECT_THAT(status.message(), HasSubstr("z: f32 of any rank"));
}

TEST(OnnxErrors, BrokenGraphs) {
  Model undefined = add_model();
  undefined.graph.nodes[0].inputs[1] = "ghost";
  EXPECT_THAT(import_model(undefined).status().message(), HasSubstr("'ghost' is used before anything makes it"));
  Model absent = add_model();
  absent.graph.nodes[0].inputs.pop_back();
  EXPECT_THAT(import_model(absent).status().message(), HasSubstr("input 1 is absent"));
  Model twice = add_model();
  twice.graph.nodes.push_back(twice.graph.nodes[0]);
  EXPECT_THAT(import_model(twice).status().message(), HasSubstr("defined twice"));
  Model wrong_kind = add_model();
  wrong_kind.graph.nodes[0] = make_node("LeakyRelu", {"pixels"}, {"y"}, {{"alpha", int64_t{1}}});
  EXPECT_THAT(import_model(wrong_kind).status().message(), HasSubstr("attribute 'alpha' must be a float"));
}

class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) / (std::string("onnx_external_") + info->name());
    std::filesystem::create_directories(folder_ / "inner");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write_weights(const std::filesystem::path& path, size_t bytes) {
    std::ofstream(path, std::ios::binary) << std::string(bytes, '\0');
  }
  Status import_at(const std::string& location, const std::string& offset = "", const std::string& length = "") {
    return import_bytes(write_model(add_model(), {location, offset, length}), (folder_ / "inner").string());
  }
  std::filesystem::path folder_;
};

TEST_F(ExternalData, IsReadFromTheModelsFolder) {
  write_weights(folder_ / "inner/weights.bin", 512);
  EXPECT_TRUE(import_at("weights.bin").ok()) << import_at("weights.bin").to_string();
  EXPECT_EQ(import_at("missing.bin").code(), Code::not_found);
}

TEST_F(ExternalData, MayNotLeaveTheModelsFolder) {
  write_weights(folder_ / "weights.bin", 512);
  std::filesystem::create_symlink(folder_ / "weights.bin", folder_ / "inner/link.bin");
  EXPECT_THAT(import_at("../weights.bin").message(), HasSubstr("outside"));
  EXPECT_THAT(import_at("link.bin").message(), HasSubstr("outside"));
  EXPECT_THAT(import_at((folder_ / "weights.bin").string()).message(), HasSubstr("relative"));
}

TEST_F(ExternalData, MustHoldTheWholeTensor) {
  write_weights(folder_ / "inner/weights.bin", 511);
  EXPECT_THAT(import_at("weights.bin").message(), HasSubstr("needs 512 bytes, found 511"));
}

TEST_F(ExternalData, LiesWithinItsFile) {
  write_weights(folder_ / "inner/weights.bin", 600);
  EXPECT_TRUE(import_at("weights.bin", "88", "512").ok());
  EXPECT_TRUE(import_at("weights.bin", "88").ok());
  EXPECT_TRUE(import_at("weights.bin", "3", "512").ok());  // at an odd address
  for (const auto& [offset, length] :
       {std::pair("89", "512"), std::pair("0", "601"), std::pair("601", "0"), std::pair("18446744073709551615", "512"),
        std::pair("88", "18446744073709551615")}) {
    EXPECT_THAT(import_at("weights.bin", offset, length).message(), HasSubstr("has 600 bytes, but the tensor wants"))
        << offset << " " << length;
  }
  EXPECT_THAT(import_at("weights.bin", "0", "511").message(), HasSubstr("needs 512 bytes, found 511"));
  for (const char* offset : {"-1", "0x10", "1e3", "18446744073709551616", " 1"}) {
    EXPECT_THAT(import_at("weights.bin", offset).message(), HasSubstr("want a number of bytes")) << offset;
  }
}

TEST_F(ExternalData, IsARegularFile) {
  EXPECT_THAT(import_at(".").message(), HasSubstr("not a regular file"));
  ASSERT_EQ(::mkfifo((folder_ / "inner/pipe").c_str(), 0600), 0);
  EXPECT_THAT(import_at("pipe").message(), HasSubstr("not a regular file"));
}

TEST(OnnxErrors, MessagesAreTextAndNotTooLong) {
  Model model = add_model();
  model.graph.nodes[0].op = std::string("\x1b[31m\xff") + std::string(5000, 'o');
  const std::string message = import_model(model).status().message();
  EXPECT_THAT(message, HasSubstr("\\x1b[31m\\xff"));
  EXPECT_LT(message.size(), 1200u);
  EXPECT_THAT(message, HasSubstr("in 1 node: 'make_y'"));  // what is left out is the middle
}

TEST(OnnxErrors, ComputedConstantsHaveALimit) {
  Model model{"",
              13,
              "",
              {{make_node("ConstantOfShape", {"shape"}, {"big"}), make_node("EyeLike", {"big"}, {"y"})},
               {{"shape", i64s({2}, {100000, 100000})}},
               {},
               {"y"}}};
  EXPECT_EQ(import_model(model).status().code(), Code::resource_exhausted);
  model.graph.nodes = {make_node("Range", {"zero", "end", "one"}, {"y"})};
  model.graph.initialisers = {{"zero", i64s({}, {0})}, {"end", i64s({}, {900'000'000})}, {"one", i64s({}, {1})}};
  EXPECT_EQ(import_model(model).status().code(), Code::resource_exhausted);
}

// Tiles that double a constant again and again are computed at run time from some size on.
TEST(OnnxErrors, FoldingHasALimit) {
  Model model{"", 13, "", {{}, {{"v0", f32s({1, 1}, {1})}, {"twice", i64s({2}, {2, 1})}}, {}, {"y"}}};
  for (int at = 0; at < 20; ++at) {
    model.graph.nodes.push_back(make_node("Tile", {"v" + std::to_string(at), "twice"}, {"v" + std::to_string(at + 1)}));
  }
  model.graph.outputs = {"v20"};
  OnnxImportOptions options;
  options.limits.folded_elements = 100;
  const auto made = import_model(model, options);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_EQ(made->graph->node_count(), 15u);  // (1 + 2) + (2 + 4) + ... + (16 + 32) elements are touched
}

// Two small constants that look large: a product of them would take the oracle hours.
TEST(OnnxErrors, FoldingOfProductsHasALimit) {
  const Model model{"",
                    13,
                    "",
                    {{make_node("Expand", {"one", "shape"}, {"big"}), make_node("MatMul", {"big", "big"}, {"y"})},
                     {{"one", f32s({1, 1}, {1})}, {"shape", i64s({2}, {8192, 8192})}},
                     {},
                     {"y"}}};
  const auto made = import_model(model);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_EQ(made->graph->node_count(), 1u);
}

}  // namespace
}  // namespace backplane::onnx_import
