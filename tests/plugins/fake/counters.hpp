// Figures of one device, besides those that Faults counts. Thread safety: any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace fake {

struct Counters {
  std::atomic<uint64_t> nodes{0}, copied_bytes{0}, written_bytes{0}, read_bytes{0}, queries{0}, queried_nodes{0};
  std::atomic<uint64_t> live_buffers{0}, live_streams{0}, live_events{0}, live_programs{0};

  void reset() {
    for (std::atomic<uint64_t>* count : {&nodes, &copied_bytes, &written_bytes, &read_bytes, &queries, &queried_nodes})
      *count = 0;
  }
};

// A member of an object that is counted while it lives.
class Live {
 public:
  explicit Live(std::atomic<uint64_t>& count) : count_(count) { ++count_; }
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;
  ~Live() { --count_; }

 private:
  std::atomic<uint64_t>& count_;
};

}  // namespace fake
