// The base of the fake plugin's tests: the plugin opened with options, and short ways to submit to its devices.
// Thread safety: none.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <vector>

#include "fake_extension.h"
#include "plugin_fixture.hpp"

namespace fake_test {

inline constexpr uint32_t kElements = 1024;
inline constexpr uint64_t kBytes = kElements * 4;
inline constexpr uint64_t kSoon = 30'000'000'000;  // a hang fails instead of blocking the suite

inline std::vector<int32_t> counting(int32_t first) {
  std::vector<int32_t> values(kElements);
  std::iota(values.begin(), values.end(), first);
  return values;
}

class FakePlugin : public testing::Test {
 protected:
  void open(const OptionList& options) { plugin_ = std::make_unique<PluginFixture>(FAKE_PLUGIN_PATH, options); }
  const bp_opened& tables() { return plugin_->opened; }

  bp_buffer* filled(const std::vector<int32_t>& values, uint32_t device = 0) {
    bp_buffer* buffer = plugin_->buffer(kBytes, device);
    EXPECT_EQ(tables().buffer_i->write(buffer, 0, values.data(), kBytes, nullptr), BP_OK);
    return buffer;
  }
  std::vector<int32_t> contents(bp_buffer* buffer) {
    std::vector<int32_t> values(kElements);
    EXPECT_EQ(tables().buffer_i->read(buffer, 0, values.data(), kBytes, nullptr), BP_OK);
    return values;
  }
  void destroy(std::initializer_list<bp_buffer*> buffers) {
    for (bp_buffer* buffer : buffers) tables().buffer_i->destroy(buffer);
  }
  // Submits target = op(inputs...).
  bp_code submit(bp_stream* stream, uint32_t op, const std::vector<bp_buffer*>& inputs, bp_buffer* target,
                 bp_error* error = nullptr, bp_run_id run = 0) {
    GraphBuilder graph(kElements);
    std::vector<uint32_t> operands;
    for (bp_buffer* input : inputs) operands.push_back(graph.tensor(input));
    graph.node(op, operands, graph.tensor(target));
    auto desc = head_of<bp_submit_desc>(BP_KIND_SUBMIT_DESC);
    desc.graph = &graph.finish();
    desc.run = run;
    return tables().stream_i->submit(stream, &desc, error);
  }
  bp_code synchronize(bp_stream* stream, bp_error* error = nullptr) {
    return tables().stream_i->synchronize(stream, kSoon, error);
  }
  uint32_t verdict(uint32_t op, uint32_t device = 0, uint32_t node = 0) {
    GraphBuilder graph(kElements);
    const uint32_t a = graph.tensor();
    for (uint32_t i = 0; i <= node; ++i) graph.node(op, {a, a}, graph.tensor());
    bp_node_answer answer{};
    auto query = head_of<bp_node_query>(BP_KIND_NODE_QUERY);
    query.graph = &graph.finish();
    query.nodes = &node;
    query.node_count = 1;
    query.answer_stride = sizeof answer;
    query.answers = &answer;
    EXPECT_EQ(tables().device_i->query_nodes(plugin_->device(device), &query, nullptr), BP_OK);
    return answer.verdict;
  }

  // Queues a copy of a whole buffer.
  bp_code copy(bp_stream* stream, bp_buffer* source, bp_buffer* target, bp_error* error = nullptr) {
    auto desc = head_of<bp_copy_desc>(BP_KIND_COPY_DESC);
    desc.source = source;
    desc.target = target;
    desc.row_bytes = kBytes;
    desc.rows = 1;
    return tables().stream_i->copy(stream, &desc, error);
  }
  const bp_ext_fake& extension() {
    return *static_cast<const bp_ext_fake*>(tables().device_i->get_extension(plugin_->device(), BP_EXT_FAKE, 1));
  }
  bp_fake_counters counters(uint32_t device = 0) {
    bp_fake_counters counters{};
    extension().counters(plugin_->device(device), &counters);
    return counters;
  }

  std::unique_ptr<PluginFixture> plugin_;
};

}  // namespace fake_test
