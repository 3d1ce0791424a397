#include "backplane/runtime/stream.hpp"

#include <cstring>

#include "toy_runtime.hpp"

namespace backplane {
namespace {

class StreamTest : public ToyRuntime {};

TEST_F(StreamTest, CopiesBetweenHostAndBuffers) {
  Stream stream = toy().create_stream().value();
  Buffer a = toy().allocate(0, 4, 0).value(), b = toy().allocate(0, 4, 0).value();
  char out[5] = {};
  bp_copy_desc in = {}, across = {}, back = {};
  in.source_host = "abcd";
  in.target = a.handle();
  across.source = a.handle();
  across.target = b.handle();
  back.source = b.handle();
  back.target_host = out;
  for (bp_copy_desc* desc : {&in, &across, &back}) {
    desc->row_bytes = 4;
    desc->rows = 1;
    ASSERT_TRUE(stream.copy(*desc).ok());
  }
  ASSERT_TRUE(stream.synchronize().ok());
  EXPECT_STREQ(out, "abcd");
}

TEST_F(StreamTest, AsyncFailuresComeOutOnce) {
  Stream stream = toy().create_stream().value();
  const bp_graph graph = {};
  EXPECT_TRUE(stream.submit(graph, 1).ok());
  EXPECT_TRUE(stream.synchronize().ok());
  EXPECT_TRUE(stream.submit(graph, ~bp_run_id{0}).ok());
  const Status status = stream.synchronize();
  EXPECT_EQ(status.code(), Code::out_of_range);
  EXPECT_NE(status.message().find("toy work failed"), std::string::npos);
  EXPECT_NE(status.message().find("toy0"), std::string::npos);
  EXPECT_TRUE(stream.synchronize().ok());
}

TEST_F(StreamTest, EmptyObjectsAndMissingAbilitiesAreErrors) {
  Stream none;
  Event event;
  Program program;
  EXPECT_EQ(none.synchronize().code(), Code::failed_precondition);
  EXPECT_EQ(event.query().status().code(), Code::failed_precondition);
  EXPECT_EQ(event.wait().code(), Code::failed_precondition);
  EXPECT_EQ(program.update(bp_graph{}).code(), Code::failed_precondition);
  Stream stream = toy().create_stream().value();
  EXPECT_EQ(stream.record(event).code(), Code::unimplemented);
  EXPECT_EQ(stream.cancel(1).code(), Code::unimplemented);
  Stream moved = std::move(stream);
  EXPECT_TRUE(moved);
  EXPECT_FALSE(stream);  // NOLINT(bugprone-use-after-move): what is left is what is tested
}

}  // namespace
}  // namespace backplane
