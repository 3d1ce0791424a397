#include "backplane/formats/npy.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

using namespace std::string_literals;

// An .npy file of format version 1 to 3.
std::string npy(const std::string& header, const std::string& data, char version = 1) {
  const size_t size = header.size();
  std::string out = "\x93NUMPY"s + version + '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>(size >> (8 * i) & 0xff);
  return out + header + data;
}

std::string header(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  std::string out(values.size() * sizeof(T), '\0');
  std::memcpy(out.data(), values.begin(), out.size());
  return out;
}

template <class T>
std::vector<T> values(const HostTensor& tensor) {
  return {tensor.data<T>(), tensor.data<T>() + tensor.elements()};
}

std::string message(const std::string& bytes) {
  const Result<HostTensor> tensor = parse_npy(bytes, "x.npy");
  if (tensor.ok()) return "no error";
  EXPECT_EQ(tensor.status().code(), Code::invalid_argument);
  return tensor.status().message();
}

TEST(Npy, ReadsEveryPlainType) {
  const struct {
    const char* descr;
    DType dtype;
    size_t bytes;
  } cases[] = {{"<f8", DType::kF64, 8}, {"<f4", DType::kF32, 4}, {"<f2", DType::kF16, 2}, {"<i8", DType::kI64, 8},
               {"<i4", DType::kI32, 4}, {"<i2", DType::kI16, 2}, {"|i1", DType::kI8, 1},  {"<u8", DType::kU64, 8},
               {"<u4", DType::kU32, 4}, {"<u2", DType::kU16, 2}, {"|u1", DType::kU8, 1},  {"|b1", DType::kBOOL, 1},
               {"=f4", DType::kF32, 4}, {"f4", DType::kF32, 4},  {">i1", DType::kI8, 1},  {"?", DType::kBOOL, 1}};
  for (const auto& c : cases) {
    std::string data(2 * c.bytes, '\0');
    data[c.bytes] = 1;
    const Result<HostTensor> tensor = parse_npy(npy(header(c.descr, "(2,)"), data), "x.npy");
    ASSERT_TRUE(tensor.ok()) << c.descr << ": " << tensor.status().to_string();
    EXPECT_EQ(tensor->dtype(), c.dtype) << c.descr;
    EXPECT_EQ(std::memcmp(tensor->bytes().data(), data.data(), data.size()), 0) << c.descr;
  }
}

TEST(Npy, ReadsEveryFormatVersion) {
  for (const char version : {1, 2, 3}) {
    const auto tensor = parse_npy(npy(header("<i4", "(2, 1)"), raw<int32_t>({7, -8}), version), "x.npy");
    ASSERT_TRUE(tensor.ok()) << tensor.status().to_string();
    EXPECT_EQ(tensor->shape(), (std::vector<int64_t>{2, 1}));
    EXPECT_EQ(values<int32_t>(*tensor), (std::vector<int32_t>{7, -8}));
  }
}

TEST(Npy, ReadsScalarsAndEmptyArrays) {
  const auto scalar = parse_npy(npy(header("<i8", "()"), raw<int64_t>({16000})), "x.npy");
  ASSERT_TRUE(scalar.ok()) << scalar.status().to_string();
  EXPECT_TRUE(scalar->shape().empty());
  EXPECT_EQ(values<int64_t>(*scalar), std::vector<int64_t>{16000});
  const auto empty = parse_npy(npy(header("<f4", "(3, 0)", "True"), ""), "x.npy");
  ASSERT_TRUE(empty.ok()) << empty.status().to_string();
  EXPECT_EQ(empty->elements(), 0);
}

TEST(Npy, ReordersFortranArrays) {
  // x[i][j][k] = 100 i + 10 j + k of shape (2, 3, 2), first index fastest in the file.
  std::string data;
  for (int k = 0; k < 2; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) data += raw<int16_t>({static_cast<int16_t>(100 * i + 10 * j + k)});
  const auto tensor = parse_npy(npy(header("<i2", "(2, 3, 2)", "True"), data), "x.npy");
  ASSERT_TRUE(tensor.ok()) << tensor.status().to_string();
  EXPECT_EQ(values<int16_t>(*tensor), (std::vector<int16_t>{0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121}));
}

TEST(Npy, RefusesWhatItCannotHold) {
  EXPECT_EQ(message(npy(header(">f4", "(1,)"), raw<float>({1}))),
            "'x.npy' is big-endian ('>f4'); save it with dtype '<f4'");
  EXPECT_NE(message(npy(header("|O", "(1,)"), "12345678")).find("holds Python objects"), std::string::npos);
  EXPECT_NE(message(npy(header("<c8", "(1,)"), "12345678")).find("element type '<c8'"), std::string::npos);
  EXPECT_NE(message(npy(header("<U4", "(1,)"), "12345678")).find("element type '<U4'"), std::string::npos);
  EXPECT_NE(message(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "1234")).find("records"),
            std::string::npos);
  EXPECT_NE(message(npy(header("|b1", "(2,)"), raw<uint8_t>({1, 2}))).find("element 1 of type bool"),
            std::string::npos);
  std::string ones;
  for (int i = 0; i < 33; ++i) ones += "1, ";
  EXPECT_EQ(message(npy(header("<f4", "(" + ones + ")"), raw<float>({1}))), "'x.npy' has more than 32 axes");
}

TEST(Npy, RefusesMalformedHeaders) {
  const char* const headers[] = {
      "",
      "{",
      "{}",
      "{'descr': '<f4', 'shape': (1,)}",
      "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
      "{'descr': '<f4', 'fortran_order': false, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
      "{'descr': '<f4, 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}",
  };
  for (const char* text : headers) EXPECT_NE(message(npy(text, raw<float>({1}))), "no error") << text;
}

TEST(Npy, RefusesOverflowingShapes) {
  EXPECT_NE(message(npy(header("<f8", "(4611686018427387904, 4)"), "")), "no error");
  EXPECT_NE(message(npy(header("<f4", "(4611686018427387904,)"), "1234")), "no error");
}

TEST(Npy, RefusesEveryTruncationAndTrailingData) {
  const std::string whole = npy(header("<f4", "(2,)"), raw<float>({1, 2}), 2);
  ASSERT_EQ(message(whole), "no error");
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_NE(message(whole.substr(0, size)), "no error") << size;
  EXPECT_EQ(message(whole + "x"), "'x.npy' has trailing data: shape [2] of f32 takes 8 bytes, found 9");
}

TEST(Npy, RefusesOtherFilesAndVersions) {
  EXPECT_EQ(message("PK\3\4 an .npz is a zip"), "'x.npy' is not an .npy file: the magic is missing");
  EXPECT_NE(message(npy(header("<f4", "(1,)"), raw<float>({1}), 4)).find("version 4.0"), std::string::npos);
}

class NpyFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "npy-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(NpyFile, WhatIsWrittenIsReadBack) {
  const std::string path = folder_ / "x.npy";
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {0}, {5}, {2, 3, 4}}) {
    HostTensor tensor = HostTensor::zeros(DType::kI64, shape).value();
    for (int64_t i = 0; i < tensor.elements(); ++i) tensor.mutable_data<int64_t>()[i] = i * i - 3;
    ASSERT_TRUE(write_npy(path, tensor).ok());
    EXPECT_EQ((std::filesystem::file_size(path) - tensor.bytes().size()) % 64, 0u);
    const auto back = read_npy(path);
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    EXPECT_EQ(back->to_string(), tensor.to_string());
    EXPECT_EQ(values<int64_t>(*back), values<int64_t>(tensor));
  }
}

TEST_F(NpyFile, Bf16IsWrittenAsF32) {
  const std::vector<uint16_t> bits = {0x3f80, 0xc000};
  const std::string path = folder_ / "x.npy";
  ASSERT_TRUE(write_npy(path, HostTensor::of<uint16_t>(DType::kBF16, {2}, bits)).ok());
  const auto back = read_npy(path);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(values<float>(*back), (std::vector<float>{1, -2}));
}

TEST_F(NpyFile, NamesWhatIsWrongWithThePath) {
  EXPECT_EQ(read_npy(folder_ / "none.npy").status().code(), Code::not_found);
  EXPECT_EQ(read_npy(folder_).status().code(), Code::invalid_argument);
  const HostTensor tensor = HostTensor::zeros(DType::kF32, {1}).value();
  EXPECT_FALSE(write_npy(folder_ / "none" / "x.npy", tensor).ok());
  EXPECT_FALSE(write_npy(folder_ / "x.npy", HostTensor()).ok());
  EXPECT_EQ(write_npy(folder_ / "x.npy", HostTensor::zeros(DType::kQ8_0, {32}).value()).code(), Code::unimplemented);
}

TEST_F(NpyFile, ReadsWhatNumPyWrote) {
  const auto tensor = read_npy(BACKPLANE_TEST_DATA "/golden/silero-vad-16k-op15/in-sr.npy");
  ASSERT_TRUE(tensor.ok()) << tensor.status().to_string();
  EXPECT_EQ(tensor->to_string(), "i64 []");
  EXPECT_EQ(*tensor->data<int64_t>(), 16000);
}

}  // namespace
}  // namespace backplane
