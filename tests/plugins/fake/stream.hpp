// An in-order queue of work: run at once by the caller, or by a thread of the stream's own after a random delay.
// Thread safety: as the ABI says, callers serialise, but for cancel.
#pragma once

#include <deque>
#include <functional>
#include <random>
#include <set>
#include <thread>

#include "device.hpp"
#include "event.hpp"

namespace fake {

class Stream final : public backplane::sdk::Stream {
 public:
  // `number` tells the streams of a device apart; it is part of the delays' seed.
  Stream(Device& device, uint64_t number);
  ~Stream() override;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void submit(const bp_submit_desc& work) override;
  void copy(const bp_copy_desc& copy) override;
  void fill(backplane::sdk::Buffer& buffer, uint64_t offset, uint64_t bytes, uint8_t byte) override;
  void record(backplane::sdk::Event& event) override;
  void wait(backplane::sdk::Event& event) override;
  bp_code synchronize(uint64_t timeout_ns, bp_error* error) override;
  void cancel(bp_run_id run) override;

 private:
  using Task = std::function<void()>;
  struct Work {
    bp_code fault;  // what is to befall it
    bp_run_id run;  // 0 = of no run
    std::vector<AccessRange> accesses;
    DescribePart describe;
    Task body;
  };

  // Runs work now and lets it throw, or queues it; queued work is skipped once the stream has failed.
  void enqueue(Work work);
  void perform(Work& work);
  void perform_queued(Work& work);
  void push(Task task);
  void work_loop();
  void delay();
  void hang(bp_run_id run);
  bool is_cancelled(bp_run_id run);
  Outcome outcome();

  Device& device_;
  const Live live_;
  const bool async_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> queue_;
  bool busy_ = false, stopping_ = false;
  Outcome outcome_;  // of the work since the last synchronize
  std::set<bp_run_id> cancelled_;
  std::mt19937_64 random_;
  std::thread worker_;
};

}  // namespace fake
