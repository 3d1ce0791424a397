// Every real model, cut off: an error, or the same model. Environment: BACKPLANE_TEST_ROOT (of this repository); and
// BACKPLANE_TRUNCATION_STEP, the bytes from one cut to the next (1 = everywhere).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "backplane/formats/npy.hpp"
#include "backplane/formats/onnx.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

constexpr size_t kStep = 1009;     // a prime, so that cuts fall on all kinds of bytes
constexpr size_t kNearBytes = 64;  // around where fields of the model end, every cut

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Where a protobuf message's fields end.
std::vector<size_t> field_ends(const std::string& bytes) {
  std::vector<size_t> ends;
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0; at < bytes.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < bytes.size()) {
    const uint64_t wire = varint() & 7;
    const uint64_t value = varint();  // ModelProto has numbers and messages only
    if (wire == 2) at += value;
    ends.push_back(at);
  }
  return ends;
}

std::set<size_t> cuts(const std::string& bytes) {
  const std::string given = environment("BACKPLANE_TRUNCATION_STEP");
  const size_t step = given.empty() ? kStep : std::stoul(given);
  std::set<size_t> made;
  for (size_t at = 0; at < bytes.size(); at += step) made.insert(at);
  for (const size_t end : field_ends(bytes)) {
    const size_t first = end > kNearBytes ? end - kNearBytes : 0;
    for (size_t at = first; at < std::min(end + kNearBytes, bytes.size()); ++at) made.insert(at);
  }
  return made;
}

class Truncation : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::ifstream file(fs::path(environment("BACKPLANE_TEST_ROOT")) / "models" / (std::string(GetParam()) + ".onnx"),
                       std::ios::binary);
    if (!file) GTEST_SKIP() << "no model " << GetParam() << "; tools/fetch-models fetches it";
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    for (const auto& entry :
         fs::directory_iterator(fs::path(environment("BACKPLANE_TEST_ROOT")) / "tests/data/golden" / GetParam())) {
      const std::string name = entry.path().stem().string();
      if (name.rfind("in-", 0) != 0) continue;
      Result<HostTensor> value = read_npy(entry.path().string());
      ASSERT_TRUE(value.ok()) << value.status().to_string();
      options_.values.emplace(name.substr(3), *value);
    }
  }

  Result<OnnxModel> import(std::string_view bytes) { return import_onnx_bytes(bytes, "cut.onnx", "", options_); }

  std::string bytes_;
  OnnxImportOptions options_;
};

TEST_P(Truncation, IsAnErrorOrTheSameModel) {
  const Result<OnnxModel> whole = import(bytes_);
  ASSERT_TRUE(whole.ok()) << whole.status().to_string();
  size_t errors = 0;
  for (const size_t length : cuts(bytes_)) {
    const Result<OnnxModel> cut = import(std::string_view(bytes_).substr(0, length));
    errors += cut.ok() ? 0 : 1;
    if (cut.ok()) {
      ASSERT_EQ(cut->graph->abi().key, whole->graph->abi().key) << "cut at " << length;
    } else {
      ASSERT_EQ(cut.status().code(), Code::invalid_argument) << cut.status().to_string();
    }
  }
  EXPECT_GT(errors, bytes_.size() / kStep / 2);
}

// Nothing is read beyond the end: of bytes of just that length, a sanitizer would tell.
TEST_P(Truncation, ReadsNothingBeyond) {
  for (const size_t end : field_ends(bytes_)) {
    for (const size_t length : {end - 1, end, std::min(end + 1, bytes_.size())}) {
      const std::vector<char> exact(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(length));
      const Result<OnnxModel> cut = import({exact.data(), exact.size()});
      EXPECT_TRUE(cut.ok() || cut.status().code() == Code::invalid_argument) << cut.status().to_string();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Truncation,
                         ::testing::Values("ppocr-cls", "ppocr-det", "ppocr-rec", "silero-vad-16k-op15", "wakeword"));

}  // namespace
}  // namespace backplane
