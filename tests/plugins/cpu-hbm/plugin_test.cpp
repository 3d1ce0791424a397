// The device hbm0 through the plugin's C tables: what it is, its memory types, imports, options. What programs do in
// its memory is in tests/plugins/cpu/program_test.cpp, which is part of this program as well.

#include <hbwmalloc.h>

#include "node_memory.hpp"
#include "plugin_fixture.hpp"

namespace backplane_cpu_hbm::testing {
namespace {

class HbmPluginTest : public backplane_cpu::testing::PluginTest {
 protected:
  bp_memtype_info memtype(uint32_t index) {
    bp_memtype_info type{};
    type.head = {sizeof type, BP_KIND_MEMTYPE_INFO, nullptr};
    EXPECT_EQ(opened.device_i->get_memtype(device, index, &type, nullptr), BP_OK);
    return type;
  }
  std::byte* address_of(bp_buffer* buffer, uint64_t bytes) {
    void* address = nullptr;
    EXPECT_EQ(opened.buffer_i->map(buffer, 0, bytes, BP_MAP_READ | BP_MAP_WRITE, &address, &error.error), BP_OK);
    return static_cast<std::byte*>(address);
  }
  uint32_t access_to(const char* plugin_id, const char* memtype_name) {
    bp_foreign_memory memory{};
    memory.head = {sizeof memory, BP_KIND_FOREIGN_MEMORY, nullptr};
    memory.plugin_id = plugin_id;
    memory.memtype_name = memtype_name;
    memory.memtype_flags = BP_MEM_HOST_VISIBLE | BP_MEM_COHERENT;
    memory.handle_type = BP_HANDLE_HOST_POINTER;
    memory.alignment = 64;
    uint32_t access = 0;
    EXPECT_EQ(opened.device_i->foreign_access(device, &memory, &access, nullptr), BP_OK);
    return access;
  }
  const bp_ext_memtypes* memtypes() {
    return static_cast<const bp_ext_memtypes*>(opened.device_i->get_extension(device, BP_EXT_MEMTYPES, 1));
  }
  bp_code set(const std::string& key, const std::string& text, int64_t number) {
    bp_option option{};
    option.key = key.c_str();
    option.type = text.empty() ? BP_OPTION_I64 : BP_OPTION_TEXT;
    option.text = text.c_str();
    option.text_len = static_cast<uint32_t>(text.size());
    option.i = number;
    return opened.plugin_i->set_options(opened.plugin, &option, 1, sizeof option, &error.error);
  }
};

TEST_F(HbmPluginTest, DeviceDescribesItself) {
  bp_device_info info{};
  info.head = {sizeof info, BP_KIND_DEVICE_INFO, nullptr};
  ASSERT_EQ(opened.device_i->get_info(device, &info, nullptr), BP_OK);
  EXPECT_STREQ(info.name, "hbm0");
  EXPECT_NE(std::string(info.description).find("NUMA node 0 (bind)"), std::string::npos) << info.description;
  EXPECT_EQ(info.type, BP_DEVICE_CPU);
  EXPECT_EQ(info.numa_node, 0u);
  EXPECT_EQ(info.caps, BP_CAP_IMPORT_HOST | BP_CAP_CANCEL | BP_CAP_PROGRAMS);
  EXPECT_EQ(info.memory_total, read_node_memory({0}).total_bytes);
  EXPECT_EQ(info.memtype_count, 4u);
}

TEST_F(HbmPluginTest, FiguresAreThoseOfTheNode) {
  make_buffer(buffer_desc(1000));
  bp_memory_stats stats{};
  stats.head = {sizeof stats, BP_KIND_MEMORY_STATS, nullptr};
  ASSERT_EQ(opened.device_i->get_memory(device, &stats, nullptr), BP_OK);
  EXPECT_EQ(stats.valid, BP_STATS_TOTAL | BP_STATS_FREE | BP_STATS_USED | BP_STATS_PEAK);
  EXPECT_EQ(stats.total, read_node_memory({0}).total_bytes);
  EXPECT_GT(stats.free, 0u);
  EXPECT_LE(stats.free, stats.total);
  EXPECT_EQ(stats.used, 1000u);
  EXPECT_EQ(stats.peak, 1000u);
}

TEST_F(HbmPluginTest, MemoryTypesAreFoundByName) {
  ASSERT_NE(memtypes(), nullptr);
  EXPECT_EQ(opened.device_i->get_extension(device, BP_EXT_MEMTYPES, 2), nullptr);
  EXPECT_EQ(memtypes()->find(device, "hbm"), 0u);
  for (const auto& [name, alignment] : {std::pair<const char*, uint64_t>{"hbm", 64},
                                        {"hbm-4k", 4096},
                                        {"hbm-2m", uint64_t{2} << 20},
                                        {"host-import", 8}}) {
    const uint32_t index = memtypes()->find(device, name);
    ASSERT_NE(index, BP_NONE) << name;
    EXPECT_STREQ(memtype(index).name, name);
    EXPECT_EQ(memtype(index).alignment, alignment);
    EXPECT_EQ(memtype(index).flags, BP_MEM_DEVICE | BP_MEM_HOST_VISIBLE | BP_MEM_COHERENT);
  }
  EXPECT_EQ(memtypes()->find(device, "host"), BP_NONE);
  EXPECT_EQ(memtypes()->find(device, nullptr), BP_NONE);
}

TEST_F(HbmPluginTest, BuffersOfEveryTypeLieOnTheNode) {
  constexpr uint64_t kBytes = 100000;
  for (const char* name : {"hbm", "hbm-4k", "hbm-2m"}) {
    const uint32_t index = memtypes()->find(device, name);
    const std::byte* const address = address_of(make_buffer(buffer_desc(kBytes, index)), kBytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % memtype(index).alignment, 0u) << name;
    EXPECT_EQ(hbw_verify_memory_region(const_cast<std::byte*>(address), kBytes, 0), 0) << name;
  }
}

TEST_F(HbmPluginTest, ACopyOfTheCallersMemoryLiesOnTheNode) {
  std::vector<float> memory(1000, 3);
  bp_buffer_desc desc = buffer_desc(memory.size() * sizeof(float));
  desc.host_ptr = memory.data();
  desc.host_ptr_use = BP_HOST_PTR_COPY;
  bp_buffer* const buffer = make_buffer(desc);
  EXPECT_EQ(hbw_verify_memory_region(address_of(buffer, desc.bytes), desc.bytes, 0), 0);
  EXPECT_EQ(download(buffer, 1000), memory);
}

TEST_F(HbmPluginTest, OtherDevicesMemoryIsUsedInPlace) {
  alignas(64) float memory[16] = {1, 2, 3};
  bp_buffer_desc desc = buffer_desc(sizeof memory);
  desc.host_ptr = memory;
  desc.host_ptr_use = BP_HOST_PTR_BORROW_WRITE;
  bp_buffer* const buffer = make_buffer(desc);
  EXPECT_EQ(address_of(buffer, desc.bytes), reinterpret_cast<std::byte*>(memory));
  const float nine = 9;
  ASSERT_EQ(opened.buffer_i->write(buffer, 4, &nine, 4, nullptr), BP_OK);
  EXPECT_EQ(memory[1], 9);

  const uint32_t copies = BP_ACCESS_COPY_FROM | BP_ACCESS_COPY_TO;
  EXPECT_EQ(access_to("org.backplane.cpu", "host"), copies | BP_ACCESS_READ_IN_PLACE | BP_ACCESS_WRITE_IN_PLACE);
  // What belongs to the application is worth being in high-bandwidth memory.
  EXPECT_EQ(access_to("", "host"), copies);
}

TEST_F(HbmPluginTest, AllocationThatCannotBeHadIsDeviceMemory) {
  const bp_buffer_desc desc = buffer_desc(read_node_memory({0}).total_bytes + 1);
  bp_buffer* buffer = nullptr;
  EXPECT_EQ(opened.device_i->buffer_create(device, &desc, &buffer, &error.error), BP_E_DEVICE_MEMORY);
  EXPECT_EQ(buffer, nullptr);
  EXPECT_NE(error.text().find("NUMA node 0"), std::string::npos) << error.text();
}

TEST_F(HbmPluginTest, OnlyThreadsCanBeSetLater) {
  EXPECT_EQ(set("threads", "", 2), BP_OK) << error.text();
  EXPECT_EQ(set("policy", "bind", 0), BP_OK) << error.text();
  EXPECT_EQ(set("policy", "interleave", 0), BP_E_STATE);
  EXPECT_EQ(set("nodes", "0", 0), BP_E_STATE);
  EXPECT_EQ(set("limit_bytes", "", 4096), BP_E_STATE);
  EXPECT_EQ(set("policy", "fastest", 0), BP_E_INVALID_ARG);
  EXPECT_NE(error.text().find("bind, preferred or interleave"), std::string::npos) << error.text();
  EXPECT_EQ(set("limit_bytes", "", -1), BP_E_INVALID_ARG);
  EXPECT_EQ(set("polices", "bind", 0), BP_E_INVALID_ARG);
  const auto* threads =
      static_cast<const bp_ext_cpu_threads*>(opened.device_i->get_extension(device, BP_EXT_CPU_THREADS, 1));
  ASSERT_NE(threads, nullptr);
  EXPECT_EQ(threads->get(device), 2u);
}

}  // namespace
}  // namespace backplane_cpu_hbm::testing
