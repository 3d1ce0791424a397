#include "plugin_fixture.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace fake_test {

ErrorText::ErrorText() {
  error.size = sizeof error;
  error.message = storage;
  error.message_cap = sizeof storage;
}

namespace {

void BP_CALL stub_log(bp_host*, int32_t, const char*, uint64_t) {}
uint32_t BP_CALL stub_intern(bp_host*, const char* name, uint32_t) {
  uint32_t id = 0;
  for (; *name != 0; ++name) id = id * 31 + static_cast<unsigned char>(*name);
  return BP_NAMED_BASE | id;
}
uint32_t BP_CALL stub_workers(bp_host*) { return 1; }
bp_code BP_CALL stub_parallel(bp_host*, uint32_t count, uint32_t, bp_task_fn fn, void* arg) {
  for (uint32_t i = 0; i < count; ++i) fn(arg, i);
  return BP_OK;
}
uint32_t BP_CALL stub_cancelled(bp_host* host, bp_run_id run) {
  return reinterpret_cast<HostStub*>(host)->cancelled_run == run ? 1 : 0;
}
void BP_CALL stub_device_event(bp_host* host, bp_device*, uint32_t what, const bp_error*) {
  if (what == BP_DEVICE_EVENT_LOST) ++reinterpret_cast<HostStub*>(host)->device_events;
}
const void* BP_CALL stub_extension(bp_host*, const char*, uint32_t) { return nullptr; }

std::vector<bp_option> as_options(const OptionList& list) {
  std::vector<bp_option> options;
  for (const auto& [key, value] : list) {
    bp_option option{};
    option.key = key.c_str();
    if (const auto* text = std::get_if<std::string>(&value)) {
      option.type = BP_OPTION_TEXT;
      option.text = text->c_str();
      option.text_len = text->size();
    } else if (const bool* flag = std::get_if<bool>(&value)) {
      option.type = BP_OPTION_BOOL;
      option.i = *flag ? 1 : 0;
    } else {
      option.type = BP_OPTION_I64;
      option.i = std::get<int64_t>(value);
    }
    options.push_back(option);
  }
  return options;
}

}  // namespace

HostStub::HostStub() {
  table = {{sizeof(bp_host_i), BP_KIND_TABLE_HOST},
           stub_log,
           stub_intern,
           stub_workers,
           stub_parallel,
           stub_cancelled,
           stub_device_event,
           stub_extension};
}

PluginFixture::PluginFixture(const char* path, const OptionList& list) {
  opened = head_of<bp_opened>(BP_KIND_OPENED);
  library_ = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library_ == nullptr) throw std::runtime_error(dlerror());
  const auto open = reinterpret_cast<bp_open_fn>(proc("bp_open.v1"));
  const std::vector<bp_option> options = as_options(list);
  auto info = head_of<bp_open_info>(BP_KIND_OPEN_INFO);
  info.abi = BP_ABI_VERSION;
  info.opset = BP_OPSET_VERSION;
  info.host_i = &host.table;
  info.host = host.handle();
  info.options = options.data();
  info.option_count = static_cast<uint32_t>(options.size());
  info.option_stride = sizeof(bp_option);
  info.library_dir = "";
  open_code = open(&info, &opened, open_error);
}

bp_proc PluginFixture::proc(const char* name) const {
  return reinterpret_cast<bp_get_proc_address_fn>(dlsym(library_, BP_ENTRY_POINT))(name);
}

PluginFixture::~PluginFixture() {
  if (open_code == BP_OK) opened.plugin_i->close(opened.plugin);
  dlclose(library_);
}

bp_buffer* PluginFixture::buffer(uint64_t bytes, uint32_t device_index) {
  auto desc = head_of<bp_buffer_desc>(BP_KIND_BUFFER_DESC);
  desc.bytes = bytes;
  bp_buffer* buffer = nullptr;
  ErrorText error;
  EXPECT_EQ(opened.device_i->buffer_create(device(device_index), &desc, &buffer, error), BP_OK) << error.text();
  return buffer;
}

bp_stream* PluginFixture::stream(uint32_t device_index) {
  const auto desc = head_of<bp_stream_desc>(BP_KIND_STREAM_DESC);
  bp_stream* stream = nullptr;
  EXPECT_EQ(opened.device_i->stream_create(device(device_index), &desc, &stream, nullptr), BP_OK);
  return stream;
}

bp_event* PluginFixture::event() {
  const auto desc = head_of<bp_event_desc>(BP_KIND_EVENT_DESC);
  bp_event* event = nullptr;
  EXPECT_EQ(opened.device_i->event_create(device(), &desc, &event, nullptr), BP_OK);
  return event;
}

uint32_t GraphBuilder::tensor(bp_buffer* buffer, uint64_t offset) {
  bp_tensor tensor{};
  tensor.dtype = dtype_;
  tensor.rank = 1;
  tensor.shape_at = static_cast<uint32_t>(i64_.size());
  tensor.stride_at = tensor.shape_at + 1;
  i64_.insert(i64_.end(), {elements_, 4});
  tensor.view_of = tensor.name_at = BP_NONE;
  tensor.offset = offset;
  tensor.bytes = static_cast<uint64_t>(elements_) * 4;
  tensor.buffer = buffer;
  tensors_.push_back(tensor);
  return static_cast<uint32_t>(tensors_.size() - 1);
}

void GraphBuilder::node(uint32_t op, std::vector<uint32_t> inputs, uint32_t output) {
  bp_node node{};
  node.op = op;
  node.op_version = 1;
  node.in_at = static_cast<uint32_t>(u32_.size());
  node.in_count = static_cast<uint32_t>(inputs.size());
  u32_.insert(u32_.end(), inputs.begin(), inputs.end());
  node.out_at = static_cast<uint32_t>(u32_.size());
  node.out_count = 1;
  u32_.push_back(output);
  nodes_.push_back(node);
}

const bp_graph& GraphBuilder::finish() {
  graph_ = head_of<bp_graph>(BP_KIND_GRAPH);
  graph_.tensors = tensors_.data();
  graph_.tensor_count = static_cast<uint32_t>(tensors_.size());
  graph_.tensor_stride = sizeof(bp_tensor);
  graph_.nodes = nodes_.data();
  graph_.node_count = static_cast<uint32_t>(nodes_.size());
  graph_.node_stride = sizeof(bp_node);
  graph_.attr_stride = sizeof(bp_attr);
  graph_.i64 = i64_.data();
  graph_.i64_count = i64_.size();
  graph_.u32 = u32_.data();
  graph_.u32_count = u32_.size();
  return graph_;
}

}  // namespace fake_test
