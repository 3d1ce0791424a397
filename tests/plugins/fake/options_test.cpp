// What the options promise, one device at a time.
#include "plugin_test_base.hpp"

namespace fake_test {
namespace {

class FakeOptions : public FakePlugin {
 protected:
  bp_device_info info(uint32_t device) {
    auto info = head_of<bp_device_info>(BP_KIND_DEVICE_INFO);
    EXPECT_EQ(tables().device_i->get_info(plugin_->device(device), &info, nullptr), BP_OK);
    return info;
  }
  uint32_t access(uint32_t device, uint64_t alignment = 64) {
    auto memory = head_of<bp_foreign_memory>(BP_KIND_FOREIGN_MEMORY);
    memory.plugin_id = memory.memtype_name = "";
    memory.handle_type = BP_HANDLE_HOST_POINTER;
    memory.alignment = alignment;
    uint32_t found = 0;
    EXPECT_EQ(tables().device_i->foreign_access(plugin_->device(device), &memory, &found, nullptr), BP_OK);
    return found;
  }
  bp_code import(uint32_t device, uint32_t use) {
    alignas(64) static int32_t memory[16];
    auto desc = head_of<bp_buffer_desc>(BP_KIND_BUFFER_DESC);
    desc.bytes = sizeof memory;
    desc.host_ptr = memory;
    desc.host_ptr_use = use;
    bp_buffer* buffer = nullptr;
    const bp_code code = tables().device_i->buffer_create(plugin_->device(device), &desc, &buffer, nullptr);
    tables().buffer_i->destroy(buffer);
    return code;
  }
  // A program of target = -input.
  bp_program* program(uint32_t op, bp_code wanted = BP_OK) {
    GraphBuilder graph(kElements);
    const uint32_t input = graph.tensor();
    graph.node(op, {input}, graph.tensor());
    auto desc = head_of<bp_program_desc>(BP_KIND_PROGRAM_DESC);
    desc.graph = &graph.finish();
    bp_program* program = nullptr;
    EXPECT_EQ(tables().device_i->program_create(plugin_->device(), &desc, &program, nullptr), wanted);
    return program;
  }
  bp_code submit_program(bp_stream* stream, bp_program* program, bp_buffer* input, bp_buffer* target) {
    const bp_binding bindings[] = {{0, 0, input, 0}, {1, 0, target, 0}};
    auto work = head_of<bp_submit_desc>(BP_KIND_SUBMIT_DESC);
    work.program = program;
    work.bindings = bindings;
    work.binding_count = 2;
    return tables().stream_i->submit(stream, &work, nullptr);
  }
};

TEST_F(FakeOptions, CanDifferByDevice) {
  open({{"devices", int64_t{3}},
        {"1-memory", std::string("host")},
        {"1-async", true},
        {"2-supports", std::string("mul")},
        {"2-type", std::string("gpu")}});
  EXPECT_EQ(info(0).caps & (BP_CAP_ASYNC | BP_CAP_IMPORT_HOST), 0u);
  EXPECT_EQ(info(1).caps & (BP_CAP_ASYNC | BP_CAP_IMPORT_HOST), BP_CAP_ASYNC | BP_CAP_IMPORT_HOST);
  EXPECT_EQ(info(1).type, BP_DEVICE_ACCEL);
  EXPECT_EQ(info(2).type, BP_DEVICE_GPU);
  EXPECT_EQ(verdict(BP_OP_ADD, 1), BP_VERDICT_YES);
  EXPECT_EQ(verdict(BP_OP_ADD, 2), BP_VERDICT_NO);
  open({{"devices", int64_t{2}}, {"2-async", true}});
  EXPECT_EQ(plugin_->open_code, BP_E_INVALID_ARG) << "there is no device 2";
}

TEST_F(FakeOptions, GiveAllVerdicts) {
  open({{"prefer", std::string("mul")}, {"slow", std::string("add,sub")}});
  EXPECT_EQ(verdict(BP_OP_MUL), BP_VERDICT_PREFERRED);
  EXPECT_EQ(verdict(BP_OP_SUB), BP_VERDICT_SLOW);
  EXPECT_EQ(verdict(BP_OP_MIN), BP_VERDICT_YES);
}

TEST_F(FakeOptions, SayWhatIsDoneWithForeignMemory) {
  open({{"devices", int64_t{4}},
        {"0-reads_foreign", std::string("none")},
        {"1-reads_foreign", std::string("copy")},
        {"2-reads_foreign", std::string("read")},
        {"3-reads_foreign", std::string("write")}});
  const uint32_t copies = BP_ACCESS_COPY_FROM | BP_ACCESS_COPY_TO;
  EXPECT_EQ(access(0), 0u);
  EXPECT_EQ(access(1), copies);
  EXPECT_EQ(access(2), copies | BP_ACCESS_READ_IN_PLACE);
  EXPECT_EQ(access(3), copies | BP_ACCESS_READ_IN_PLACE | BP_ACCESS_WRITE_IN_PLACE);
  EXPECT_EQ(access(3, 32), copies) << "of memory that is not aligned well enough";
  EXPECT_EQ(import(1, BP_HOST_PTR_BORROW_READ), BP_E_UNSUPPORTED);
  EXPECT_EQ(import(2, BP_HOST_PTR_BORROW_READ), BP_OK);
  EXPECT_EQ(import(2, BP_HOST_PTR_BORROW_WRITE), BP_E_UNSUPPORTED);
  EXPECT_EQ(import(3, BP_HOST_PTR_BORROW_WRITE), BP_OK);
}

TEST_F(FakeOptions, CopiesBetweenDevicesCanBeMissing) {
  for (const bool peer_copy : {true, false}) {
    open({{"devices", int64_t{2}}, {"peer_copy", peer_copy}});
    EXPECT_EQ((info(0).caps & BP_CAP_PEER_COPY) != 0, peer_copy);
    bp_buffer *a = filled(counting(3)), *b = plugin_->buffer(kBytes, 1), *c = plugin_->buffer(kBytes);
    bp_stream* stream = plugin_->stream(1);
    EXPECT_EQ(copy(stream, a, b), peer_copy ? BP_OK : BP_E_UNSUPPORTED);
    if (peer_copy) {
      EXPECT_EQ(contents(b), counting(3));
    }
    EXPECT_EQ(copy(stream, a, c), BP_OK) << "both ends on one device";
    tables().stream_i->destroy(stream);
    destroy({a, b, c});
  }
}

TEST_F(FakeOptions, EventsAndProgramsCanBeMissing) {
  open({{"events", false}, {"programs", false}});
  EXPECT_EQ(info(0).caps & (BP_CAP_EVENTS | BP_CAP_PROGRAMS), 0u);
  const auto desc = head_of<bp_event_desc>(BP_KIND_EVENT_DESC);
  bp_event* event = nullptr;
  EXPECT_EQ(tables().device_i->event_create(plugin_->device(), &desc, &event, nullptr), BP_E_UNSUPPORTED);
  EXPECT_EQ(program(BP_OP_NEG, BP_E_UNSUPPORTED), nullptr);
}

TEST_F(FakeOptions, OpsTakenWhenAskedCanBeRefusedLater) {
  open({{"refuse_compile", std::string("abs")}, {"refuse_submit", std::string("neg")}});
  EXPECT_EQ(program(BP_OP_ABS, BP_E_UNSUPPORTED), nullptr);
  bp_program* neg = program(BP_OP_NEG);
  bp_buffer *a = filled(counting(1)), *b = plugin_->buffer(kBytes);
  bp_stream* stream = plugin_->stream();
  EXPECT_EQ(submit(stream, BP_OP_NEG, {a}, b), BP_E_UNSUPPORTED);
  EXPECT_EQ(submit_program(stream, neg, a, b), BP_E_UNSUPPORTED);
  EXPECT_EQ(submit(stream, BP_OP_ABS, {a}, b), BP_OK);
  tables().stream_i->destroy(stream);
  tables().program_i->destroy(neg);
  destroy({a, b});
}

TEST_F(FakeOptions, OpsTakenWhenSubmittedCanBeRefusedWhenTheyRun) {
  for (const bool async : {false, true}) {
    open({{"refuse_run", std::string("neg")}, {"async", async}});
    bp_buffer *a = filled(counting(1)), *b = plugin_->buffer(kBytes);
    bp_stream* stream = plugin_->stream();
    EXPECT_EQ(submit(stream, BP_OP_NEG, {a}, b), async ? BP_OK : BP_E_UNSUPPORTED);
    EXPECT_EQ(synchronize(stream), async ? BP_E_UNSUPPORTED : BP_OK);
    EXPECT_EQ(submit(stream, BP_OP_ABS, {a}, b), BP_OK);
    EXPECT_EQ(synchronize(stream), BP_OK);
    tables().stream_i->destroy(stream);
    destroy({a, b});
  }
}

TEST_F(FakeOptions, ProgramsAreUpdatedIfTheyCanBe) {
  for (const bool update : {true, false}) {
    open({{"update", update}});
    bp_program* compiled = program(BP_OP_NEG);
    GraphBuilder graph(kElements);
    const uint32_t input = graph.tensor();
    graph.node(BP_OP_ABS, {input}, graph.tensor());
    EXPECT_EQ(tables().program_i->update(compiled, &graph.finish(), nullptr), update ? BP_OK : BP_E_UNSUPPORTED);
    bp_buffer *a = filled(counting(-5)), *b = plugin_->buffer(kBytes);
    bp_stream* stream = plugin_->stream();
    EXPECT_EQ(submit_program(stream, compiled, a, b), BP_OK);
    EXPECT_EQ(contents(b)[8], update ? 3 : -3);
    tables().stream_i->destroy(stream);
    tables().program_i->destroy(compiled);
    destroy({a, b});
  }
}

TEST_F(FakeOptions, ANullDeviceDoesNothing) {
  open({{"null", true}});
  bp_buffer *a = filled(counting(1)), *b = filled(counting(7));
  bp_stream* stream = plugin_->stream();
  bp_event* event = plugin_->event();
  bp_program* compiled = program(BP_OP_NEG);
  EXPECT_EQ(submit(stream, BP_OP_NEG, {a}, b), BP_OK);
  EXPECT_EQ(submit_program(stream, compiled, a, b), BP_OK);
  EXPECT_EQ(copy(stream, a, b), BP_OK);
  EXPECT_EQ(tables().stream_i->record(stream, event, nullptr), BP_OK);
  EXPECT_EQ(tables().event_i->query(event, nullptr), BP_OK);
  EXPECT_EQ(tables().stream_i->wait(stream, event, nullptr), BP_OK);
  EXPECT_EQ(synchronize(stream), BP_OK);
  EXPECT_EQ(contents(b), counting(7));
  tables().stream_i->destroy(stream);
  tables().event_i->destroy(event);
  tables().program_i->destroy(compiled);
  destroy({a, b});
}

}  // namespace
}  // namespace fake_test
