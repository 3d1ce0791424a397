// RaceChecker: finds accesses to the same bytes that no wait puts in order, whether or not they collide in time.
//
// A lane is whatever runs tasks one after another. Each has a vector clock (Mattern 1989): how many tasks of every
// lane are known to be done before its next one. A shadow map holds, for each byte range of each buffer, the last
// write and the last read of each lane since; an access is a race if it meets one that its lane's clock does not
// cover, as in FastTrack (Flanagan, Freund 2009). Memory is bounded by what the lanes have not yet told each other,
// and by a limit on the history of clocks, beyond which races may be missed but none is made up.
// Thread safety: every function from any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace backplane {

struct MemoryAccess {
  const void* buffer;  // names the memory: aliases of one memory must be given by one pointer
  uint64_t offset;     // bytes
  uint64_t bytes;
  bool write;
};

class RaceChecker {
 public:
  explicit RaceChecker(uint32_t lanes);

  // Notes that `lane`, before its next task, waits until task `other_tick` (from 1) of lane `other` is done, and so
  // until all that this task waited for. To be called after `other` has noted the accesses of that task.
  void join(uint32_t lane, uint32_t other, uint64_t other_tick);
  // Notes what task `tick` of a lane touches; ticks of a lane rise, a tick may be noted in several calls. Returns a
  // description of the first race found by this call: both accesses, their lanes, and the bytes.
  std::optional<std::string> access(uint32_t lane, uint64_t tick, std::span<const MemoryAccess> accesses,
                                    std::string_view what);
  // Notes that all lanes stand still and know of each other: what comes is behind all that was.
  void drained();
  // Number of byte ranges and clocks that are kept: a measure of memory.
  size_t footprint() const;

 private:
  using Clock = std::vector<uint64_t>;  // by lane: tasks known to be done
  struct Record {
    uint32_t lane;
    uint64_t tick;
    std::shared_ptr<const std::string> what;
    bool operator==(const Record&) const = default;
  };
  struct Segment {
    uint64_t end;
    std::optional<Record> write;
    std::vector<Record> reads;  // since the write; at most one of a lane
    bool same_records(const Segment& other) const { return write == other.write && reads == other.reads; }
  };
  using Segments = std::map<uint64_t, Segment>;  // by first byte; disjoint
  struct Epoch {
    uint64_t first_tick;  // the clock of this task and those behind it, up to the next epoch
    Clock clock;
  };
  struct Lane {
    uint64_t tick = 0;  // of the last noted access
    std::deque<Epoch> history;
  };

  const Clock& clock(uint32_t lane) const { return lanes_[lane].history.back().clock; }
  const Clock& clock_at(uint32_t lane, uint64_t tick) const;
  uint64_t known_to_all(uint32_t lane) const;
  void trim(uint32_t lane);
  bool races(const Record& record, uint32_t lane) const;
  void settle(Segment& segment) const;
  static void split(Segments& segments, uint64_t at);
  static void fill_gaps(Segments& segments, uint64_t begin, uint64_t end);
  static void merge(Segments& segments, uint64_t begin, uint64_t end);
  const Record* find_race(const Segment& segment, uint32_t lane, bool write, bool& raced_write) const;
  std::optional<std::string> check(const Record& now, const MemoryAccess& access);

  mutable std::mutex mutex_;
  std::vector<Lane> lanes_;
  std::map<const void*, Segments> shadow_;
};

}  // namespace backplane
