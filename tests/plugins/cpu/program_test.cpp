// Submissions: graphs and programs, bindings, views, gangs, cancellation, data errors.

#include "plugin_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

// c = (a - a) + a, in three nodes.
struct Chain {
  explicit Chain(int64_t size) {
    a = g.tensor(BP_TYPE_F32, {size});
    b = g.tensor(BP_TYPE_F32, {size});
    c = g.tensor(BP_TYPE_F32, {size});
    g.node(BP_OP_NEG, {a}, {b});
    g.node(BP_OP_ADD, {a, b}, {c});
    g.node(BP_OP_SUB, {c, b}, {c});
  }
  GraphBuilder g;
  uint32_t a, b, c;
};

std::vector<float> ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 1000);
  return values;
}

class ProgramTest : public PluginTest {
 protected:
  std::vector<bp_binding> bindings(const Chain& chain, size_t count) {
    const uint64_t bytes = count * sizeof(float);
    return {{chain.a, 0, upload(ramp(count)), 0},
            {chain.b, 0, make_buffer(buffer_desc(bytes)), 0},
            {chain.c, 0, make_buffer(buffer_desc(bytes + 64)), 64}};
  }
};

TEST_F(ProgramTest, RunsAProgramAsOneGang) {
  constexpr size_t kCount = 300000;
  Chain chain(kCount);
  bp_program* program = compile(chain.g.graph());
  const std::vector<bp_binding> places = bindings(chain, kCount);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(submit(program, places), BP_OK) << error.text();
    EXPECT_EQ(download(places[2].buffer, kCount, 64), ramp(kCount));
  }
  EXPECT_EQ(host.regions, 3u);
  EXPECT_EQ(host.last_gang, kWorkers);
}

TEST_F(ProgramTest, SmallGraphsWakeNobody) {
  Chain chain(100);
  const std::vector<bp_binding> places = bindings(chain, 100);
  ASSERT_EQ(submit(compile(chain.g.graph()), places), BP_OK) << error.text();
  EXPECT_EQ(download(places[2].buffer, 100, 64), ramp(100));
  EXPECT_EQ(host.regions, 0u);
}

TEST_F(ProgramTest, MixesSmallAndLargeNodes) {
  constexpr int64_t kCount = 200000;
  GraphBuilder g;
  const uint32_t scalar = g.tensor(BP_TYPE_F32, {}), twice = g.tensor(BP_TYPE_F32, {}),
                 four = g.tensor(BP_TYPE_F32, {});
  const uint32_t x = g.tensor(BP_TYPE_F32, {kCount}), y = g.tensor(BP_TYPE_F32, {kCount}), first = g.view(y, 0, {});
  const uint32_t last = g.tensor(BP_TYPE_F32, {});
  g.node(BP_OP_ADD, {scalar, scalar}, {twice});
  g.node(BP_OP_ADD, {twice, twice}, {four});
  g.node(BP_OP_ADD, {x, four}, {y});
  g.node(BP_OP_ADD, {first, four}, {last});
  bp_program* program = compile(g.graph());
  bp_buffer* out = make_buffer(buffer_desc(kCount * 4));
  bp_buffer* small = make_buffer(buffer_desc(64));
  ASSERT_EQ(submit(program, {{scalar, 0, upload({1}), 0},
                             {twice, 0, small, 0},
                             {four, 0, small, 4},
                             {last, 0, small, 8},
                             {x, 0, upload(ramp(kCount)), 0},
                             {y, 0, out, 0}}),
            BP_OK)
      << error.text();
  EXPECT_EQ(download(small, 3), (std::vector<float>{2, 4, 8}));
  EXPECT_EQ(download(out, 1, (kCount - 1) * 4), (std::vector<float>{999 + 4}));
}

TEST_F(ProgramTest, RunsABoundGraphWithViews) {
  GraphBuilder g;
  const uint32_t x = g.tensor(BP_TYPE_F32, {4}), tail = g.view(x, 8, {2}), y = g.tensor(BP_TYPE_F32, {2});
  g.node(BP_OP_NEG, {tail}, {y});
  bp_buffer* in = upload({0, 0, 1, 2, 3, 4});
  bp_buffer* out = make_buffer(buffer_desc(8));
  g.bind(x, in, 8);
  g.bind(y, out, 0);
  ASSERT_EQ(submit(g.graph()), BP_OK) << error.text();  // the view lies in x's memory
  EXPECT_EQ(download(out, 2), (std::vector<float>{-3, -4}));
  g.bind(tail, in, 8);  // now bound itself: the offset counts from the buffer's base
  ASSERT_EQ(submit(g.graph()), BP_OK) << error.text();
  EXPECT_EQ(download(out, 2), (std::vector<float>{-1, -2}));
}

TEST_F(ProgramTest, EmptyTensorsNeedNoMemory) {
  Chain chain(0);
  bp_buffer* empty = make_buffer(buffer_desc(0));
  EXPECT_EQ(submit(compile(chain.g.graph()), {{chain.a, 0, empty, 0}, {chain.b, 0, empty, 0}, {chain.c, 0, empty, 0}}),
            BP_OK)
      << error.text();
}

TEST_F(ProgramTest, WrongBindingsAreExplained) {
  Chain chain(16);
  bp_program* program = compile(chain.g.graph());
  const std::vector<bp_binding> good = bindings(chain, 16);
  ASSERT_EQ(submit(program, good), BP_OK);
  const auto refused = [&](std::vector<bp_binding> places, const std::string& part) {
    EXPECT_EQ(submit(program, places), BP_E_INVALID_ARG);
    EXPECT_NE(error.text().find(part), std::string::npos) << error.text();
  };
  refused({good[0], good[2]}, "tensor 1 is not bound");
  refused({good[0], good[1], {chain.c, 0, good[2].buffer, 128}}, "tensor 2 takes 64 bytes at offset 128");
  refused({good[0], good[1], {chain.c, 0, good[2].buffer, UINT64_MAX - 3}}, "tensor 2 takes");
  refused({good[0], good[1], {chain.c, 0, good[2].buffer, 2}}, "multiple of its element");
  refused({good[0], good[1], good[2], good[2]}, "bound twice");
  refused({good[0], good[1], good[2], {7, 0, good[2].buffer, 0}}, "names tensor 7");
  refused({good[0], good[1], {chain.c, 0, nullptr, 0}}, "no buffer");
}

TEST_F(ProgramTest, MemoryLentForReadingIsNotWritten) {
  alignas(64) float memory[16] = {};
  bp_buffer_desc desc = buffer_desc(sizeof memory, 1);
  desc.host_ptr = memory;
  desc.host_ptr_use = BP_HOST_PTR_BORROW_READ;
  bp_buffer* lent = make_buffer(desc);
  Chain chain(16);
  std::vector<bp_binding> places = bindings(chain, 16);
  places[0].buffer = lent;
  bp_program* program = compile(chain.g.graph());
  EXPECT_EQ(submit(program, places), BP_OK) << error.text();
  places[1].buffer = lent;
  EXPECT_EQ(submit(program, places), BP_E_INVALID_ARG);
}

TEST_F(ProgramTest, ADataErrorNamesTheNode) {
  for (const int64_t rows : {int64_t{2}, int64_t{40000}}) {  // one worker, then many
    GraphBuilder g;
    const uint32_t x = g.tensor(BP_TYPE_F32, {2, 8}), indices = g.tensor(BP_TYPE_I32, {rows});
    const uint32_t y = g.tensor(BP_TYPE_F32, {rows, 8}), z = g.tensor(BP_TYPE_F32, {rows, 8});
    g.node(BP_OP_GATHER, {x, indices}, {y});
    g.node(BP_OP_NEG, {y}, {z});
    bp_buffer* index_buffer = make_buffer(buffer_desc(static_cast<uint64_t>(rows) * 4));
    opened.buffer_i->fill(index_buffer, 0, static_cast<uint64_t>(rows) * 4, 0, nullptr);
    const int32_t bad = 5;
    opened.buffer_i->write(index_buffer, static_cast<uint64_t>(rows - 1) * 4, &bad, 4, nullptr);
    const uint64_t bytes = static_cast<uint64_t>(rows) * 32;
    bp_program* program = compile(g.graph());
    const std::vector<bp_binding> places = {{x, 0, upload(ramp(16)), 0},
                                            {indices, 0, index_buffer, 0},
                                            {y, 0, make_buffer(buffer_desc(bytes)), 0},
                                            {z, 0, make_buffer(buffer_desc(bytes)), 0}};
    EXPECT_EQ(submit(program, places), BP_E_DATA);
    EXPECT_NE(error.text().find("node 0 (gather)"), std::string::npos) << error.text();
    opened.buffer_i->fill(index_buffer, 0, static_cast<uint64_t>(rows) * 4, 0, nullptr);
    EXPECT_EQ(submit(program, places), BP_OK) << "a program works again after a data error";
  }
}

TEST_F(ProgramTest, CancelledRunsStop) {
  for (const size_t count : {size_t{16}, size_t{300000}}) {
    Chain chain(static_cast<int64_t>(count));
    bp_program* program = compile(chain.g.graph());
    const std::vector<bp_binding> places = bindings(chain, count);
    host.cancelled_run = 7;
    EXPECT_EQ(submit(program, places, 7), BP_E_CANCELLED);
    EXPECT_EQ(submit(program, places, 8), BP_OK) << error.text();
    host.cancelled_run = 0;
    host.polls = 0;
    host.cancel_after_polls = 2;  // at the start and after the first node the run goes on
    EXPECT_EQ(submit(program, places, 9), BP_E_CANCELLED);
    EXPECT_NE(error.text().find("node 1 (add)"), std::string::npos) << error.text();
    host.cancel_after_polls = UINT32_MAX;
    ASSERT_EQ(opened.stream_i->cancel(stream, 10, nullptr), BP_OK);
    EXPECT_EQ(submit(program, places, 10), BP_E_CANCELLED);
    EXPECT_EQ(submit(program, places, 11), BP_OK);
  }
}

TEST_F(ProgramTest, UnsupportedNodesAreRefusedWhenCompiled) {
  GraphBuilder g;
  const uint32_t x = g.tensor(BP_TYPE_I32, {2});
  g.node(BP_OP_EXP, {x}, {x});
  bp_program_desc desc{};
  desc.head = {sizeof desc, BP_KIND_PROGRAM_DESC, nullptr};
  desc.graph = g.graph();
  bp_program* program = nullptr;
  EXPECT_EQ(opened.device_i->program_create(device, &desc, &program, &error.error), BP_E_UNSUPPORTED);
  EXPECT_NE(error.text().find("node 0 (exp)"), std::string::npos) << error.text();
}

TEST_F(ProgramTest, OneThreadGivesTheSame) {
  constexpr size_t kCount = 100000;
  Chain chain(kCount);
  const auto* threads =
      static_cast<const bp_ext_cpu_threads*>(opened.device_i->get_extension(device, BP_EXT_CPU_THREADS, 1));
  bp_program* program = compile(chain.g.graph());
  const std::vector<bp_binding> places = bindings(chain, kCount);
  for (const uint32_t count : {1u, 3u, 0u}) {
    threads->set(device, count, nullptr);
    ASSERT_EQ(submit(program, places), BP_OK) << error.text();
    EXPECT_EQ(download(places[2].buffer, kCount, 64), ramp(kCount));
  }
  EXPECT_EQ(host.last_gang, kWorkers);
}

}  // namespace
}  // namespace backplane_cpu::testing
