// Strings, which are known at import.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "model_writer.hpp"

namespace backplane::onnx_import {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = OnnxInput::Kind;
using Texts = std::vector<std::string>;

OnnxText texts(const Texts& elements) { return {{static_cast<int64_t>(elements.size())}, elements}; }

// One op on strings s, giving y.
Model text_model(NodeDef node, std::vector<int64_t> shape = {-1}) {
  return {"",
          16,
          "",
          {{std::move(node)},
           {{"zero", i64s({}, {0})}, {"shape", i64s({2}, {2, -1})}, {"picks", i64s({2}, {3, 0})}},
           {make_input("s", Kind::text, shape)},
           {"y"},
           {{"more", texts({"more"})}}}};
}

Result<OnnxModel> import_with(const Model& model, const OnnxText& s) {
  OnnxImportOptions options;
  options.texts = {{"s", s}};
  return import_model(model, options);
}

// y, of strings.
OnnxText run_text(const NodeDef& node, const OnnxText& s) {
  const auto made = import_with(text_model(node, std::vector<int64_t>(s.shape.size(), -1)), s);
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  if (!made.ok() || made->texts.size() != 1) return {};
  EXPECT_EQ(made->texts[0].first, "y");
  EXPECT_TRUE(made->graph->outputs().empty());
  return made->texts[0].second;
}

std::string fault(const NodeDef& node, const Texts& s) {
  const auto made = import_with(text_model(node), texts(s));
  EXPECT_FALSE(made.ok());
  return made.status().message();
}

NodeDef normalizer(std::vector<AttributeDef> attributes) {
  return make_node("StringNormalizer", {"s"}, {"y"}, std::move(attributes));
}

NodeDef cast_to(int64_t type) { return make_node("Cast", {"s"}, {"y"}, {{"to", type}}); }

TEST(OnnxText, NormalizesWhatRemainsOfIt) {
  const AttributeDef upper{"case_change_action", std::string("UPPER")}, words{"stopwords", Texts{"monday"}};
  EXPECT_THAT(run_text(normalizer({upper}), texts({"aZ-9"})).elements, ElementsAre("AZ-9"));
  const OnnxText row{{1, 3}, {"Monday", "tuesday", "Monday"}};
  const OnnxText insensitive = run_text(normalizer({upper, words}), row);
  EXPECT_THAT(insensitive.elements, ElementsAre("TUESDAY"));
  EXPECT_THAT(insensitive.shape, ElementsAre(1, 1));
  EXPECT_EQ(run_text(normalizer({words, {"is_case_sensitive", int64_t{1}}}), row).elements, row.elements);
  const OnnxText empty = run_text(normalizer({words}), texts({"monday", "MONDAY"}));
  EXPECT_THAT(empty.elements, ElementsAre(""));
  EXPECT_THAT(empty.shape, ElementsAre(1));
}

TEST(OnnxText, CaseOfOtherLettersThanAsciiIsNotGuessed) {
  const AttributeDef lower{"case_change_action", std::string("LOWER")};
  EXPECT_THAT(fault(normalizer({lower}), {"É"}), HasSubstr("'É', which is not ASCII"));
  EXPECT_THAT(fault(normalizer({{"stopwords", Texts{"ß"}}}), {"a"}), HasSubstr("'ß', which is not ASCII"));
  EXPECT_THAT(fault(normalizer({lower, {"locale", std::string("tr_TR")}}), {"I"}), HasSubstr("locale 'tr_TR'"));
  EXPECT_THAT(fault(normalizer({{"case_change_action", std::string("TITLE")}}), {"a"}), HasSubstr("found 'TITLE'"));
  const Texts words{"É", "ß"};  // no case is changed
  const std::vector<AttributeDef> exact{{"stopwords", Texts{"ß"}}, {"is_case_sensitive", int64_t{1}}};
  EXPECT_THAT(run_text(normalizer(exact), texts(words)).elements, ElementsAre("É"));
}

TEST(OnnxText, MovesLikeNumbers) {
  const OnnxText s = texts({"a", "b", "c", "d"});
  const OnnxText square = run_text(make_node("Reshape", {"s", "shape"}, {"y"}), s);
  EXPECT_THAT(square.shape, ElementsAre(2, 2));
  EXPECT_EQ(square.elements, s.elements);
  EXPECT_THAT(run_text(make_node("Gather", {"s", "picks"}, {"y"}), s).elements, ElementsAre("d", "a"));
  EXPECT_THAT(run_text(make_node("Concat", {"s", "more"}, {"y"}, {{"axis", int64_t{0}}}), s).elements,
              ElementsAre("a", "b", "c", "d", "more"));
  EXPECT_THAT(fault(make_node("Concat", {"s", "picks"}, {"y"}, {{"axis", int64_t{0}}}), {"a"}),
              HasSubstr("some of its inputs are strings"));
  EXPECT_THAT(fault(make_node("Neg", {"s"}, {"y"}), {"a"}), HasSubstr("its input 0 is strings"));
}

TEST(OnnxText, CastsToNumbers) {
  const auto numbers = [](int64_t type, const Texts& s) {
    const auto made = import_with(text_model(cast_to(type)), texts(s));
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return made.ok() ? run_graph(*made->graph, {}).at(0) : HostTensor();
  };
  const HostTensor reals = numbers(1, {"3.5", "+1e-3", "-INF", "+inf", "NaN"});
  EXPECT_THAT(floats(reals), ElementsAre(3.5f, 1e-3f, -std::numeric_limits<float>::infinity(),
                                         std::numeric_limits<float>::infinity(), ::testing::IsNan()));
  EXPECT_EQ(*numbers(7, {"-9223372036854775808"}).data<int64_t>(), INT64_MIN);
  EXPECT_EQ(*numbers(10, {"0.5"}).data<uint16_t>(), 0x3800);
  for (const char* word : {"", "1.5x", "+-1", "infinity", "0x10", " 1", "1e999"}) {
    EXPECT_THAT(fault(cast_to(1), {word}), HasSubstr("no number of type f32")) << word;
  }
  EXPECT_THAT(fault(cast_to(6), {"2147483648"}), HasSubstr("no number of type i32"));
  EXPECT_THAT(fault(cast_to(7), {"2.5"}), HasSubstr("no number of type i64"));
  EXPECT_THAT(fault(cast_to(9), {"True"}), HasSubstr("does not say which strings are bool"));
}

TEST(OnnxText, CastsFromNumbersThatAreKnown) {
  const auto written = [](const HostTensor& x) {
    const Model model{"", 13, "", {{make_node("Cast", {"x"}, {"y"}, {{"to", int64_t{8}}})}, {{"x", x}}, {}, {"y"}}};
    const auto made = import_model(model);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return made.ok() && made->texts.size() == 1 ? made->texts[0].second.elements : Texts();
  };
  EXPECT_THAT(written(f32s({5}, {314.15926f, 0.1f, -1e-7f, 1e10f, 2})),
              ElementsAre("314.15927", "0.1", "-0.0000001", "10000000000", "2"));
  EXPECT_THAT(written(f32s({2}, {NAN, -INFINITY})), ElementsAre("NaN", "-INF"));
  EXPECT_THAT(written(i64s({1}, {-5})), ElementsAre("-5"));
  const Model run_time{
      "",
      13,
      "",
      {{make_node("Cast", {"x"}, {"y"}, {{"to", int64_t{8}}})}, {}, {make_input("x", DType::kF32, {17})}, {"y"}}};
  EXPECT_THAT(import_model(run_time).status().message(), HasSubstr("depends on run-time data"));
}

TEST(OnnxText, CountsNGramsOfStrings) {
  const auto made = import_with(text_model(make_node("TfIdfVectorizer", {"s"}, {"y"},
                                                     {{"mode", std::string("TF")},
                                                      {"min_gram_length", int64_t{1}},
                                                      {"max_gram_length", int64_t{2}},
                                                      {"max_skip_count", int64_t{0}},
                                                      {"ngram_counts", std::vector<int64_t>{0, 2}},
                                                      {"ngram_indexes", std::vector<int64_t>{0, 1, 2}},
                                                      {"pool_strings", Texts{"a", "b", "a", "b"}}})),
                                texts({"b", "a", "b", "c", "a", "b"}));
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_THAT(floats(run_graph(*made->graph, {}).at(0)), ElementsAre(2, 3, 2));
}

TEST(OnnxText, ValuesArePartOfTheImport) {
  const Model model = text_model(make_node("Identity", {"s"}, {"y"}));
  const auto made = import_with(model, texts({"Monday", "Tuesday"}));
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_THAT(made->specialised, ElementsAre("s = [\"Monday\", \"Tuesday\"]"));
  EXPECT_EQ(import_model(model).status().id(), "onnx.needs-value");
  EXPECT_THAT(import_model(model).status().message(), HasSubstr("pass the value of input 's'"));
  EXPECT_THAT(import_with(model, {{3}, {"a"}}).status().message(), HasSubstr("1 strings for the shape [3]"));
  EXPECT_THAT(import_with(model, {{}, {"a"}}).status().message(), HasSubstr("s: strings [d0], found shape []"));
  const auto fault_of = [](const Model& wrong, const OnnxImportOptions& options) {
    return import_model(wrong, options).status().message();
  };
  EXPECT_THAT(fault_of(model, {{}, {{"s", i64s({1}, {1})}}}),
              HasSubstr("wants s: strings [d0], but is given a shape or numbers"));
  Model numbers = model;
  numbers.graph.inputs = {make_input("s", DType::kF32, {1})};
  EXPECT_THAT(fault_of(numbers, {{}, {}, {}, {{"s", texts({"a"})}}}), HasSubstr("f32 [1], but is given strings"));
}

}  // namespace
}  // namespace backplane::onnx_import
