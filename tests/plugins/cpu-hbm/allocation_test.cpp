// Every allocation fails once: operator new and memkind alike. A program of its own, because it replaces both.

#include <gtest/gtest.h>
#include <hbwmalloc.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <vector>

#include "fake_host.hpp"
#include "graph_builder.hpp"

extern "C" {
bp_proc bp_get_proc_address(const char* name);
int __real_hbw_posix_memalign(void** block, size_t alignment, size_t bytes);
void __real_hbw_free(void* block);
}

namespace {

std::atomic<bool> armed{false};      // allocations count
std::atomic<uint64_t> countdown{0};  // the one that makes it 0 fails
std::atomic<int64_t> live_blocks{0};

bool fails_now() { return armed && countdown.fetch_sub(1) == 1; }

}  // namespace

void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return fails_now() ? nullptr : std::malloc(bytes); }
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

extern "C" int __wrap_hbw_posix_memalign(void** block, size_t alignment, size_t bytes) {
  if (fails_now()) return ENOMEM;
  const int result = __real_hbw_posix_memalign(block, alignment, bytes);
  if (result == 0) ++live_blocks;
  return result;
}
extern "C" void __wrap_hbw_free(void* block) {
  if (block != nullptr) --live_blocks;
  __real_hbw_free(block);
}

namespace backplane_cpu_hbm::testing {
namespace {

using backplane_cpu::testing::ErrorText;
using backplane_cpu::testing::FakeHost;
using backplane_cpu::testing::GraphBuilder;

constexpr int64_t kRows = 64;
constexpr uint64_t kBytes = kRows * kRows * sizeof(float);

// One use of the plugin from open to close: y = x . w, then -y in place.
class Use {
 public:
  Use() {
    const uint32_t x = graph_.tensor(BP_TYPE_F32, {kRows, kRows}), w = graph_.tensor(BP_TYPE_F32, {kRows, kRows}),
                   y = graph_.tensor(BP_TYPE_F32, {kRows, kRows});
    graph_.node(BP_OP_MATMUL, {x, w}, {y});
    graph_.node(BP_OP_NEG, {y}, {y});
  }
  ~Use() {
    if (opened_.plugin == nullptr) return;
    if (program_ != nullptr) opened_.program_i->destroy(program_);
    if (stream_ != nullptr) opened_.stream_i->destroy(stream_);
    for (bp_buffer* buffer : buffers_)
      if (buffer != nullptr) opened_.buffer_i->destroy(buffer);
    opened_.plugin_i->close(opened_.plugin);
  }

  // Runs to the end, or to the first call that fails, which it returns.
  bp_code run() {
    bp_code code = step([&] { return open(); });
    for (bp_buffer*& buffer : buffers_)
      if (code == BP_OK) code = step([&] { return make_buffer(buffer); });
    if (code == BP_OK) code = step([&] { return compile(); });
    if (code == BP_OK) code = step([&] { return make_stream(); });
    if (code == BP_OK) code = step([&] { return submit(); });
    return code;
  }

 private:
  template <class Call>
  static bp_code step(const Call& call) {
    armed = true;
    const bp_code code = call();
    armed = false;
    return code;
  }
  bp_code open() {
    bp_open_info info{};
    info.head = {sizeof info, BP_KIND_OPEN_INFO, nullptr};
    info.abi = BP_ABI_VERSION;
    info.opset = BP_OPSET_VERSION;
    info.host_i = host_.table();
    info.host = host_.context();
    info.option_stride = sizeof(bp_option);
    info.library_dir = "/";
    opened_.head = {sizeof opened_, BP_KIND_OPENED, nullptr};
    const auto open = reinterpret_cast<bp_open_fn>(bp_get_proc_address("bp_open.v1"));
    const bp_code code = open(&info, &opened_, &error_.error);
    if (code == BP_OK) device_ = opened_.plugin_i->device_at(opened_.plugin, 0);
    return code;
  }
  bp_code make_buffer(bp_buffer*& buffer) {
    bp_buffer_desc desc{};
    desc.head = {sizeof desc, BP_KIND_BUFFER_DESC, nullptr};
    desc.bytes = kBytes;
    return opened_.device_i->buffer_create(device_, &desc, &buffer, &error_.error);
  }
  bp_code compile() {
    bp_program_desc desc{};
    desc.head = {sizeof desc, BP_KIND_PROGRAM_DESC, nullptr};
    desc.graph = graph_.graph();
    return opened_.device_i->program_create(device_, &desc, &program_, &error_.error);
  }
  bp_code make_stream() {
    bp_stream_desc desc{{sizeof desc, BP_KIND_STREAM_DESC, nullptr}, 0, 0};
    return opened_.device_i->stream_create(device_, &desc, &stream_, &error_.error);
  }
  bp_code submit() {
    bp_binding bindings[3];
    for (uint32_t i = 0; i < 3; ++i) bindings[i] = {i, 0, buffers_[i], 0};
    bp_submit_desc desc{};
    desc.head = {sizeof desc, BP_KIND_SUBMIT_DESC, nullptr};
    desc.program = program_;
    desc.bindings = bindings;
    desc.binding_count = 3;
    return opened_.stream_i->submit(stream_, &desc, &error_.error);
  }

  FakeHost host_{1};
  ErrorText error_;
  GraphBuilder graph_;
  bp_opened opened_{};
  bp_device* device_ = nullptr;
  bp_buffer* buffers_[3] = {};
  bp_program* program_ = nullptr;
  bp_stream* stream_ = nullptr;
};

TEST(Allocation, EachMayFail) {
  uint64_t failures = 0;
  bool fired = true;
  for (uint64_t k = 1; fired; ++k) {
    countdown = k;
    {
      Use use;
      const bp_code code = use.run();
      fired = countdown == 0 || countdown > k;
      if (fired) ++failures;
      // No page at the start is no high-bandwidth memory; later it is memory that is short.
      const bool clean =
          code == BP_OK || code == BP_E_HOST_MEMORY || code == BP_E_DEVICE_MEMORY || code == BP_E_NO_HARDWARE;
      EXPECT_TRUE(clean) << "allocation " << k << " gave " << code;
      EXPECT_TRUE(fired || code == BP_OK) << "without a failure the code was " << code;
    }
    EXPECT_EQ(live_blocks, 0) << "allocation " << k << " left blocks of high-bandwidth memory";
    ASSERT_LT(k, 10000u);
  }
  EXPECT_GT(failures, 20u) << "the test shows nothing";
}

}  // namespace
}  // namespace backplane_cpu_hbm::testing
