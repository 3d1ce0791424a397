// PluginTest: the plugin opened through its C entry point, with helpers for buffers and submissions.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "fake_host.hpp"
#include "graph_builder.hpp"

extern "C" bp_proc bp_get_proc_address(const char* name);

namespace backplane_cpu::testing {

class PluginTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kWorkers = 4;

  void SetUp() override {
    ASSERT_EQ(open(options()), BP_OK) << error.text();
    device = opened.plugin_i->device_at(opened.plugin, 0);
    bp_stream_desc desc{{sizeof desc, BP_KIND_STREAM_DESC, nullptr}, 0, 0};
    ASSERT_EQ(opened.device_i->stream_create(device, &desc, &stream, &error.error), BP_OK);
  }
  void TearDown() override {
    for (bp_buffer* buffer : buffers) opened.buffer_i->destroy(buffer);
    for (bp_program* program : programs) opened.program_i->destroy(program);
    if (stream != nullptr) opened.stream_i->destroy(stream);
    if (opened.plugin != nullptr) opened.plugin_i->close(opened.plugin);
  }

  // What the plugin is opened with.
  virtual std::vector<bp_option> options() const { return {}; }

  bp_code open(const std::vector<bp_option>& options) {
    const auto open_plugin = reinterpret_cast<bp_open_fn>(bp_get_proc_address("bp_open.v1"));
    bp_open_info info{};
    info.head = {sizeof info, BP_KIND_OPEN_INFO, nullptr};
    info.abi = BP_ABI_VERSION;
    info.opset = BP_OPSET_VERSION;
    info.host_i = host.table();
    info.host = host.context();
    info.options = options.data();
    info.option_count = static_cast<uint32_t>(options.size());
    info.option_stride = sizeof(bp_option);
    info.library_dir = "/";
    opened.head = {sizeof opened, BP_KIND_OPENED, nullptr};
    return open_plugin(&info, &opened, &error.error);
  }

  bp_buffer_desc buffer_desc(uint64_t bytes, uint32_t memtype = 0) const {
    bp_buffer_desc desc{};
    desc.head = {sizeof desc, BP_KIND_BUFFER_DESC, nullptr};
    desc.memtype = memtype;
    desc.bytes = bytes;
    return desc;
  }
  bp_buffer* make_buffer(const bp_buffer_desc& desc) {
    bp_buffer* buffer = nullptr;
    EXPECT_EQ(opened.device_i->buffer_create(device, &desc, &buffer, &error.error), BP_OK) << error.text();
    if (buffer != nullptr) buffers.push_back(buffer);
    return buffer;
  }
  bp_buffer* upload(const std::vector<float>& values) {
    bp_buffer* buffer = make_buffer(buffer_desc(values.size() * sizeof(float)));
    EXPECT_EQ(opened.buffer_i->write(buffer, 0, values.data(), values.size() * sizeof(float), nullptr), BP_OK);
    return buffer;
  }
  std::vector<float> download(bp_buffer* buffer, size_t count, uint64_t offset = 0) {
    std::vector<float> values(count);
    EXPECT_EQ(opened.buffer_i->read(buffer, offset, values.data(), count * sizeof(float), nullptr), BP_OK);
    return values;
  }
  bp_program* compile(const bp_graph* graph) {
    bp_program_desc desc{};
    desc.head = {sizeof desc, BP_KIND_PROGRAM_DESC, nullptr};
    desc.graph = graph;
    bp_program* program = nullptr;
    EXPECT_EQ(opened.device_i->program_create(device, &desc, &program, &error.error), BP_OK) << error.text();
    if (program != nullptr) programs.push_back(program);
    return program;
  }
  bp_code submit(bp_program* program, const std::vector<bp_binding>& bindings, bp_run_id run = 0) {
    bp_submit_desc desc{};
    desc.head = {sizeof desc, BP_KIND_SUBMIT_DESC, nullptr};
    desc.program = program;
    desc.bindings = bindings.data();
    desc.binding_count = static_cast<uint32_t>(bindings.size());
    desc.run = run;
    return opened.stream_i->submit(stream, &desc, &error.error);
  }
  bp_code submit(const bp_graph* graph) {
    bp_submit_desc desc{};
    desc.head = {sizeof desc, BP_KIND_SUBMIT_DESC, nullptr};
    desc.graph = graph;
    return opened.stream_i->submit(stream, &desc, &error.error);
  }

  FakeHost host{kWorkers};
  ErrorText error;
  bp_opened opened{};
  bp_device* device = nullptr;
  bp_stream* stream = nullptr;
  std::vector<bp_buffer*> buffers;
  std::vector<bp_program*> programs;
};

}  // namespace backplane_cpu::testing
