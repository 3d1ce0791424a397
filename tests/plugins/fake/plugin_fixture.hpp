// A plugin library opened through its C ABI alone, and small graphs to give to it. Thread safety: none.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "backplane/abi/abi.h"

namespace fake_test {

// A bp_error with room for text.
struct ErrorText {
  ErrorText();
  ErrorText(const ErrorText&) = delete;
  ErrorText& operator=(const ErrorText&) = delete;
  operator bp_error*() { return &error; }
  std::string text() const { return storage; }

  char storage[512] = {};
  bp_error error{};
};

using OptionValue = std::variant<int64_t, bool, std::string>;
using OptionList = std::vector<std::pair<std::string, OptionValue>>;

// The host's side: counts device events and knows which runs are cancelled.
struct HostStub {
  HostStub();
  bp_host* handle() { return reinterpret_cast<bp_host*>(this); }

  bp_host_i table{};
  std::atomic<int> device_events{0};
  std::atomic<bp_run_id> cancelled_run{0};
};

// The library at `path`, opened. Every create function fails the test if the plugin refuses.
class PluginFixture {
 public:
  PluginFixture(const char* path, const OptionList& options);
  ~PluginFixture();
  PluginFixture(const PluginFixture&) = delete;
  PluginFixture& operator=(const PluginFixture&) = delete;

  bp_device* device(uint32_t index = 0) const { return opened.plugin_i->device_at(opened.plugin, index); }
  bp_buffer* buffer(uint64_t bytes, uint32_t device_index = 0);
  bp_stream* stream(uint32_t device_index = 0);
  bp_event* event();
  bp_proc proc(const char* name) const;

  HostStub host;
  bp_code open_code = BP_OK;
  ErrorText open_error;
  bp_opened opened{};

 private:
  void* library_ = nullptr;
};

// A graph of one-dimensional tensors of one type, built node by node. Keep it alive while its record is used.
class GraphBuilder {
 public:
  explicit GraphBuilder(int64_t elements, uint32_t dtype = BP_TYPE_I32) : elements_(elements), dtype_(dtype) {}
  uint32_t tensor(bp_buffer* buffer = nullptr, uint64_t offset = 0);
  void node(uint32_t op, std::vector<uint32_t> inputs, uint32_t output);
  const bp_graph& finish();

 private:
  int64_t elements_;
  uint32_t dtype_;  // of 4 bytes
  std::vector<bp_tensor> tensors_;
  std::vector<bp_node> nodes_;
  std::vector<int64_t> i64_;
  std::vector<uint32_t> u32_;
  bp_graph graph_{};
};

template <class T>
T head_of(uint32_t kind) {
  T value{};
  value.head.size = sizeof(T);
  value.head.kind = kind;
  return value;
}

}  // namespace fake_test
