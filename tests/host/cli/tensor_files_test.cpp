#include "tensor_files.hpp"

#include <gtest/gtest.h>

namespace backplane::cli {
namespace {

TEST(TensorFiles, NamesHoldNoSeparators) { EXPECT_EQ(tensor_file_name("out-", "a/b::c"), "out-a_b__c.npy"); }

TEST(TensorFiles, FindsNamesThatKeepTheirColons) {
  const std::string folder = BACKPLANE_TEST_DATA "/golden/wakeword";
  EXPECT_EQ(find_tensor_file(folder, "in-", "onnx::Flatten_0"), folder + "/in-onnx::Flatten_0.npy");
  EXPECT_EQ(find_tensor_file(folder, "out-", "39"), folder + "/out-39.npy");
  EXPECT_EQ(find_tensor_file(folder, "out-", "none"), "");
  EXPECT_EQ(find_tensor_file(folder, "../wakeword/out-", "39"), "") << "names never leave the folder";
}

TEST(TensorFiles, FoldersMustBeFolders) {
  EXPECT_TRUE(check_folder("--compare", BACKPLANE_TEST_DATA "/golden").ok());
  EXPECT_EQ(check_folder("--compare", BACKPLANE_TEST_DATA "/none").code(), Code::not_found);
  EXPECT_EQ(check_folder("--compare", BACKPLANE_TEST_DATA "/pixels.png").code(), Code::invalid_argument);
}

}  // namespace
}  // namespace backplane::cli
