#include "backplane/runtime/stream.hpp"

#include "backplane/base/text.hpp"
#include "backplane/runtime/device.hpp"
#include "registry/plugin/plugin_call.hpp"

namespace backplane {
namespace {

void destroy(const Device& device, bp_stream* handle) { device.tables().stream_i->destroy(handle); }
void destroy(const Device& device, bp_event* handle) { device.tables().event_i->destroy(handle); }
void destroy(const Device& device, bp_program* handle) { device.tables().program_i->destroy(handle); }

// Calls a function of an object that must be there.
template <class Handle, class Body>
Status call(const Owned<Handle>& object, std::string_view what, Body&& body) {
  if (!object) return failed_precondition(cat(what, ": the object is empty: it was never made, or was moved from"));
  return call_plugin(what, body).with_context(object.device().name());
}

bp_submit_desc submit_desc(bp_run_id run) {
  bp_submit_desc desc = {};
  desc.head = {sizeof desc, BP_KIND_SUBMIT_DESC, nullptr};
  desc.run = run;
  return desc;
}

}  // namespace

template <class Handle>
void Owned<Handle>::reset() {
  if (handle_ != nullptr) destroy(*device_, handle_);
  handle_ = nullptr;
  device_ = nullptr;
}

template class Owned<bp_stream>;
template class Owned<bp_event>;
template class Owned<bp_program>;

Result<bool> Event::query() const {
  bp_code code = BP_OK;
  BP_TRY(call(*this, "event query",
              [&](bp_error* error) { return code = device_->tables().event_i->query(handle_, error); }));
  return code != BP_NOT_READY;
}

Status Event::wait(uint64_t timeout_ns) const {
  return call(*this, "event wait",
              [&](bp_error* error) { return device_->tables().event_i->wait_host(handle_, timeout_ns, error); });
}

Status Program::update(const bp_graph& graph) {
  return call(*this, "program update",
              [&](bp_error* error) { return device_->tables().program_i->update(handle_, &graph, error); });
}

Status Stream::submit(const bp_graph& graph, bp_run_id run) {
  bp_submit_desc desc = submit_desc(run);
  desc.graph = &graph;
  return call(*this, "submit",
              [&](bp_error* error) { return device_->tables().stream_i->submit(handle_, &desc, error); });
}

Status Stream::submit(const Program& program, std::span<const bp_binding> bindings, bp_run_id run) {
  if (bindings.size() >= BP_NONE) return invalid_argument(cat("submit: ", bindings.size(), " bindings are too many"));
  bp_submit_desc desc = submit_desc(run);
  desc.program = program.handle();
  desc.bindings = bindings.data();
  desc.binding_count = static_cast<uint32_t>(bindings.size());
  return call(*this, "submit of a program",
              [&](bp_error* error) { return device_->tables().stream_i->submit(handle_, &desc, error); });
}

Status Stream::copy(bp_copy_desc desc) {
  desc.head = {sizeof desc, BP_KIND_COPY_DESC, nullptr};
  return call(*this, "copy", [&](bp_error* error) { return device_->tables().stream_i->copy(handle_, &desc, error); });
}

Status Stream::record(Event& event) {
  return call(*this, "event record",
              [&](bp_error* error) { return device_->tables().stream_i->record(handle_, event.handle(), error); });
}

Status Stream::wait(Event& event) {
  return call(*this, "stream wait",
              [&](bp_error* error) { return device_->tables().stream_i->wait(handle_, event.handle(), error); });
}

Status Stream::synchronize(uint64_t timeout_ns) {
  return call(*this, "synchronize",
              [&](bp_error* error) { return device_->tables().stream_i->synchronize(handle_, timeout_ns, error); });
}

Status Stream::cancel(bp_run_id run) {
  return call(*this, "cancel",
              [&](bp_error* error) { return device_->tables().stream_i->cancel(handle_, run, error); });
}

}  // namespace backplane
