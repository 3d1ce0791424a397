// Device, buffers, copies and options of the plugin, through its C tables.

#include "plugin_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

struct Release {
  uint32_t calls = 0;
  void* memory = nullptr;
  static void call(void* user, void* memory) {
    auto& self = *static_cast<Release*>(user);
    ++self.calls;
    self.memory = memory;
  }
};

bp_buffer_desc import_desc(bp_buffer_desc desc, void* memory, uint32_t use, Release& release) {
  desc.host_ptr = memory;
  desc.host_ptr_use = use;
  desc.release = &Release::call;
  desc.release_user = &release;
  return desc;
}

TEST_F(PluginTest, DeviceDescribesItself) {
  bp_device_info info{};
  info.head = {sizeof info, BP_KIND_DEVICE_INFO, nullptr};
  ASSERT_EQ(opened.device_i->get_info(device, &info, nullptr), BP_OK);
  EXPECT_STREQ(info.name, "cpu0");
  EXPECT_NE(info.description[0], '\0');
  EXPECT_EQ(info.type, BP_DEVICE_CPU);
  EXPECT_EQ(info.caps, BP_CAP_IMPORT_HOST | BP_CAP_CANCEL | BP_CAP_PROGRAMS);
  EXPECT_EQ(info.memtype_count, 2u);

  bp_memory_stats stats{};
  stats.head = {sizeof stats, BP_KIND_MEMORY_STATS, nullptr};
  make_buffer(buffer_desc(1000));
  ASSERT_EQ(opened.device_i->get_memory(device, &stats, nullptr), BP_OK);
  EXPECT_LE(stats.free, stats.total);
  EXPECT_EQ(stats.used, 1000u);

  bp_memtype_info type{};
  type.head = {sizeof type, BP_KIND_MEMTYPE_INFO, nullptr};
  ASSERT_EQ(opened.device_i->get_memtype(device, 0, &type, nullptr), BP_OK);
  EXPECT_STREQ(type.name, "host");
  EXPECT_EQ(type.alignment, 64u);
  EXPECT_EQ(type.flags, BP_MEM_DEVICE | BP_MEM_HOST_VISIBLE | BP_MEM_COHERENT);
  EXPECT_EQ(opened.device_i->get_memtype(device, 2, &type, nullptr), BP_E_INVALID_ARG);
}

TEST_F(PluginTest, BuffersAreAlignedAndMapInPlace) {
  bp_buffer* buffer = upload({1, 2, 3, 4});
  void* address = nullptr;
  ASSERT_EQ(opened.buffer_i->map(buffer, 4, 8, BP_MAP_READ | BP_MAP_WRITE, &address, nullptr), BP_OK);
  EXPECT_EQ((reinterpret_cast<uintptr_t>(address) - 4) % 64, 0u);
  static_cast<float*>(address)[0] = 20;
  ASSERT_EQ(opened.buffer_i->unmap(buffer, nullptr), BP_OK);
  EXPECT_EQ(download(buffer, 4), (std::vector<float>{1, 20, 3, 4}));
  ASSERT_EQ(opened.buffer_i->fill(buffer, 8, 8, 0, nullptr), BP_OK);
  EXPECT_EQ(download(buffer, 4), (std::vector<float>{1, 20, 0, 0}));
  EXPECT_EQ(opened.buffer_i->fill(buffer, 8, 9, 0, nullptr), BP_E_INVALID_ARG);
}

TEST_F(PluginTest, ImportsReleaseExactlyOnce) {
  alignas(64) float memory[4] = {1, 2, 3, 4};
  for (const uint32_t use : {BP_HOST_PTR_COPY, BP_HOST_PTR_BORROW_READ, BP_HOST_PTR_BORROW_WRITE}) {
    Release release;
    const bp_buffer_desc desc = import_desc(buffer_desc(sizeof memory, 1), memory, use, release);
    bp_buffer* buffer = nullptr;
    ASSERT_EQ(opened.device_i->buffer_create(device, &desc, &buffer, &error.error), BP_OK) << error.text();
    EXPECT_EQ(release.calls, use == BP_HOST_PTR_COPY ? 1u : 0u);
    EXPECT_EQ(download(buffer, 4), (std::vector<float>{1, 2, 3, 4}));
    const float nine = 9;
    const bp_code written = opened.buffer_i->write(buffer, 0, &nine, 4, nullptr);
    EXPECT_EQ(written, use == BP_HOST_PTR_BORROW_READ ? BP_E_INVALID_ARG : BP_OK);
    EXPECT_EQ(memory[0], use == BP_HOST_PTR_BORROW_WRITE ? 9 : 1);
    opened.buffer_i->destroy(buffer);
    EXPECT_EQ(release.calls, 1u);
    EXPECT_EQ(release.memory, memory);
  }
}

TEST_F(PluginTest, AFailedImportDoesNotRelease) {
  alignas(64) float memory[4] = {};
  Release release;
  const bp_buffer_desc desc =
      import_desc(buffer_desc(4, 1), reinterpret_cast<char*>(memory) + 4, BP_HOST_PTR_BORROW_READ, release);
  bp_buffer* buffer = nullptr;
  EXPECT_EQ(opened.device_i->buffer_create(device, &desc, &buffer, &error.error), BP_E_INVALID_ARG);
  EXPECT_EQ(buffer, nullptr);
  EXPECT_EQ(release.calls, 0u);
}

TEST_F(PluginTest, AllocationThatCannotBeHadIsDeviceMemory) {
  const bp_buffer_desc desc = buffer_desc(uint64_t{1} << 60);
  bp_buffer* buffer = nullptr;
  EXPECT_EQ(opened.device_i->buffer_create(device, &desc, &buffer, &error.error), BP_E_DEVICE_MEMORY);
  EXPECT_NE(error.text(), "");
}

TEST_F(PluginTest, EmptyBuffersAreLegal) {
  bp_buffer* buffer = make_buffer(buffer_desc(0));
  EXPECT_EQ(opened.buffer_i->fill(buffer, 0, 0, 1, nullptr), BP_OK);
  EXPECT_EQ(opened.buffer_i->write(buffer, 0, nullptr, 0, nullptr), BP_OK);
}

TEST_F(PluginTest, CopiesRowsBetweenBuffersAndHostMemory) {
  bp_buffer* source = upload({1, 2, 3, 4, 5, 6});
  std::vector<float> target(4, 0);
  bp_copy_desc copy{};
  copy.head = {sizeof copy, BP_KIND_COPY_DESC, nullptr};
  copy.source = source;
  copy.source_offset = 4;
  copy.target_host = target.data();
  copy.row_bytes = 8;
  copy.rows = 2;
  copy.source_pitch_bytes = 12;
  copy.target_pitch_bytes = 8;
  ASSERT_EQ(opened.stream_i->copy(stream, &copy, &error.error), BP_OK) << error.text();
  EXPECT_EQ(target, (std::vector<float>{2, 3, 5, 6}));

  copy.target_host = nullptr;
  copy.target = source;
  EXPECT_EQ(opened.stream_i->copy(stream, &copy, &error.error), BP_E_INVALID_ARG);  // overlap
  copy.source_pitch_bytes = 20;
  EXPECT_EQ(opened.stream_i->copy(stream, &copy, &error.error), BP_E_INVALID_ARG);  // leaves the buffer
}

TEST_F(PluginTest, ForeignAccess) {
  bp_foreign_memory memory{};
  memory.head = {sizeof memory, BP_KIND_FOREIGN_MEMORY, nullptr};
  memory.plugin_id = "";
  memory.memtype_name = "";
  memory.handle_type = BP_HANDLE_HOST_POINTER;
  memory.alignment = 64;
  uint32_t access = 0;
  ASSERT_EQ(opened.device_i->foreign_access(device, &memory, &access, nullptr), BP_OK);
  EXPECT_EQ(access, BP_ACCESS_READ_IN_PLACE | BP_ACCESS_WRITE_IN_PLACE | BP_ACCESS_COPY_FROM | BP_ACCESS_COPY_TO);
  memory.alignment = 4;
  ASSERT_EQ(opened.device_i->foreign_access(device, &memory, &access, nullptr), BP_OK);
  EXPECT_EQ(access, BP_ACCESS_COPY_FROM | BP_ACCESS_COPY_TO);
  memory.memtype_flags = BP_MEM_PRIVATE_FMT;
  ASSERT_EQ(opened.device_i->foreign_access(device, &memory, &access, nullptr), BP_OK);
  EXPECT_EQ(access, 0u);
}

TEST_F(PluginTest, QueryAnswersWithReasons) {
  GraphBuilder g;
  const uint32_t x = g.tensor(BP_TYPE_F32, {2}), h = g.tensor(BP_TYPE_F16, {2}), i = g.tensor(BP_TYPE_I32, {2});
  g.node(BP_OP_EXP, {x}, {x});
  g.node(BP_OP_EXP, {h}, {h});
  g.node(BP_OP_EXP, {i}, {i});
  bp_node_answer answers[3] = {};
  char text[512] = {};
  bp_node_query query{};
  query.head = {sizeof query, BP_KIND_NODE_QUERY, nullptr};
  query.graph = g.graph();
  query.node_count = 3;
  query.answer_stride = sizeof(bp_node_answer);
  query.answers = answers;
  query.text = text;
  query.text_cap = sizeof text;
  ASSERT_EQ(opened.device_i->query_nodes(device, &query, &error.error), BP_OK) << error.text();
  EXPECT_EQ(answers[0].verdict, BP_VERDICT_YES);
  EXPECT_EQ(answers[0].alias_mask, 1u);
  EXPECT_EQ(answers[1].verdict, BP_VERDICT_SLOW);
  EXPECT_EQ(answers[2].verdict, BP_VERDICT_NO);
  ASSERT_NE(answers[2].reason_at, BP_NONE);
  EXPECT_NE(std::string(text + answers[2].reason_at).find("i32"), std::string::npos);
}

TEST_F(PluginTest, ThreadsByOptionAndExtension) {
  const auto* threads =
      static_cast<const bp_ext_cpu_threads*>(opened.device_i->get_extension(device, BP_EXT_CPU_THREADS, 1));
  ASSERT_NE(threads, nullptr);
  EXPECT_EQ(opened.device_i->get_extension(device, "vendor.nothing", 1), nullptr);
  EXPECT_EQ(threads->get(device), kWorkers);
  EXPECT_EQ(threads->set(device, 2, nullptr), BP_OK);
  EXPECT_EQ(threads->get(device), 2u);
  EXPECT_EQ(threads->set(device, 99, nullptr), BP_OK);
  EXPECT_EQ(threads->get(device), kWorkers);

  bp_option option{};
  option.key = "threads";
  option.type = BP_OPTION_I64;
  option.i = 3;
  ASSERT_EQ(opened.plugin_i->set_options(opened.plugin, &option, 1, sizeof option, &error.error), BP_OK);
  EXPECT_EQ(threads->get(device), 3u);
  option.i = -1;
  EXPECT_EQ(opened.plugin_i->set_options(opened.plugin, &option, 1, sizeof option, &error.error), BP_E_INVALID_ARG);
  option.key = "thread";
  EXPECT_EQ(opened.plugin_i->set_options(opened.plugin, &option, 1, sizeof option, &error.error), BP_E_INVALID_ARG);
  EXPECT_EQ(threads->get(device), 3u);
}

}  // namespace
}  // namespace backplane_cpu::testing
