#include "src/stream.hpp"

#include <cstring>

#include "src/device.hpp"
#include "src/program.hpp"

namespace backplane_cpu {

namespace sdk = backplane::sdk;

namespace {

class StreamCancelCheck final : public CancelCheck {
 public:
  StreamCancelCheck(const sdk::Host& host, const std::atomic<bp_run_id>& cancelled_run, bp_run_id run)
      : host_(host), cancelled_run_(cancelled_run), run_(run) {}
  bool cancelled() const override {
    return run_ != 0 && (cancelled_run_.load(std::memory_order_relaxed) == run_ || host_.cancelled(run_));
  }

 private:
  const sdk::Host& host_;
  const std::atomic<bp_run_id>& cancelled_run_;
  bp_run_id run_;
};

const HostBuffer* host_buffer(bp_buffer* handle) { return static_cast<const HostBuffer*>(sdk::from_handle(handle)); }

// Whether the rows' overall spans share a byte; rows that merely interleave count as well.
bool overlap(const std::byte* a, uint64_t a_bytes, const std::byte* b, uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

}  // namespace

void CpuStream::submit(const bp_submit_desc& work) {
  const StreamCancelCheck cancel(device_.host(), cancelled_run_, work.run);
  if (work.program != nullptr) {
    CpuProgram& program = *static_cast<CpuProgram*>(sdk::from_handle(work.program));
    return program.run(program.places_of(work.bindings, work.binding_count), device_.host(), device_.threads(), cancel);
  }
  if (work.binding_count != 0) throw sdk::Error(BP_E_INVALID_ARG, "bindings go with a program, not with a graph");
  CpuProgram(*work.graph, device_.own_memory())
      .run(CpuProgram::places_of(*work.graph), device_.host(), device_.threads(), cancel);
}

void CpuStream::copy(const bp_copy_desc& copy) {
  if (copy.rows == 0 || copy.row_bytes == 0) return;
  const std::byte* from = static_cast<const std::byte*>(copy.source_host);
  std::byte* to = static_cast<std::byte*>(copy.target_host);
  if (copy.source != nullptr) from = host_buffer(copy.source)->data();
  if (copy.target != nullptr) {
    host_buffer(copy.target)->require_writable();
    to = host_buffer(copy.target)->data();
  }
  from += copy.source_offset;
  to += copy.target_offset;
  const uint64_t from_bytes = (copy.rows - 1) * copy.source_pitch_bytes + copy.row_bytes;
  const uint64_t to_bytes = (copy.rows - 1) * copy.target_pitch_bytes + copy.row_bytes;
  if (overlap(from, from_bytes, to, to_bytes))
    throw sdk::Error(BP_E_INVALID_ARG, "source and target of a copy overlap");
  for (uint64_t row = 0; row < copy.rows; ++row)
    std::memcpy(to + row * copy.target_pitch_bytes, from + row * copy.source_pitch_bytes, copy.row_bytes);
}

void CpuStream::fill(sdk::Buffer& buffer, uint64_t offset, uint64_t bytes, uint8_t byte) {
  buffer.fill(offset, bytes, byte);
}

}  // namespace backplane_cpu
