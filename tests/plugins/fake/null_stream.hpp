// The stream of a null device: work costs nothing and does nothing, and nothing is counted. What is left of a run's
// time is the host's own. Thread safety: callers serialise.
#pragma once

#include "device.hpp"
#include "event.hpp"

namespace fake {

class NullStream final : public backplane::sdk::Stream {
 public:
  explicit NullStream(Device& device) : live_(device.counters().live_streams), done_(std::make_shared<Point>()) {
    done_->complete({});
  }

  void submit(const bp_submit_desc& /*work*/) override {}
  void copy(const bp_copy_desc& /*copy*/) override {}
  void fill(backplane::sdk::Buffer&, uint64_t, uint64_t, uint8_t) override {}
  void record(backplane::sdk::Event& event) override { static_cast<Event&>(event).stand_for(done_); }
  void wait(backplane::sdk::Event& event) override { static_cast<Event&>(event).point(); }
  bp_code synchronize(uint64_t, bp_error*) override { return BP_OK; }
  void cancel(bp_run_id) override {}

 private:
  const Live live_;
  const std::shared_ptr<Point> done_;
};

}  // namespace fake
