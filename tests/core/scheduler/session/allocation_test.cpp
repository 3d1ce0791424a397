// A run in steady state allocates nothing. A program of its own, because it replaces operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "fake_runtime.hpp"
#include "small_graphs.hpp"

namespace {
std::atomic<uint64_t> allocations{0};
}

void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
// Not inlined: compilers would see malloc where there is new, and free where there is delete.
[[gnu::noinline]] void* operator new(size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t& tag) noexcept { return operator new(bytes, tag); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace backplane {
namespace {

using testing::adding_chain;
using testing::FakeRuntime;
using testing::in_turn;
using testing::small_value;

class Allocations : public ::testing::TestWithParam<const char*> {};

TEST_P(Allocations, NoneInARunThatWasMadeBefore) {
  FakeRuntime runtime(GetParam());
  for (const uint32_t depth : {1u, 2u}) {
    SessionOptions options(in_turn(20, 2));
    options.pipeline_depth = depth;
    const auto session = Session::prepare(*runtime, adding_chain(20), {}, options).value();
    const HostTensor x = small_value(1);
    std::vector<std::byte> y(24);
    const auto run = [&] {
      return session->set_input("x", x).ok() && session->run().ok() && session->read_output("y", y).ok();
    };
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(run());
    const uint64_t before = allocations;
    ASSERT_GT(before, 0u);  // they are counted
    bool all = true;
    for (int i = 0; i < 100; ++i) all = run() && all;
    EXPECT_EQ(allocations - before, 0u) << "depth " << depth;
    EXPECT_TRUE(all);
  }
}

INSTANTIATE_TEST_SUITE_P(Session, Allocations,
                         ::testing::Values(R"({"devices": 2, "null": true})",
                                           R"({"devices": 2, "null": true, "memory": "host"})",
                                           R"({"devices": 2, "null": true, "programs": false, "peer_copy": false})"));

}  // namespace
}  // namespace backplane
