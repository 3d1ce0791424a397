#include "race_checker.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

// Clocks kept of a lane that others do not ask about.
constexpr size_t kMaxHistory = 4096;

}  // namespace

RaceChecker::RaceChecker(uint32_t lanes) : lanes_(lanes) {
  for (Lane& lane : lanes_) lane.history.push_back({0, Clock(lanes, 0)});
}

void RaceChecker::join(uint32_t lane, uint32_t other, uint64_t other_tick) {
  const std::lock_guard lock(mutex_);
  if (lane == other || clock(lane)[other] >= other_tick) return;
  Clock joined = clock(lane);
  const Clock& theirs = clock_at(other, other_tick);
  for (size_t i = 0; i < joined.size(); ++i) joined[i] = std::max(joined[i], theirs[i]);
  joined[other] = other_tick;
  std::deque<Epoch>& history = lanes_[lane].history;
  const uint64_t next_tick = lanes_[lane].tick + 1;
  if (history.back().first_tick == next_tick)
    history.back().clock = std::move(joined);
  else
    history.push_back({next_tick, std::move(joined)});
  trim(lane);
  trim(other);
}

const RaceChecker::Clock& RaceChecker::clock_at(uint32_t lane, uint64_t tick) const {
  const std::deque<Epoch>& history = lanes_[lane].history;
  auto behind = std::upper_bound(history.begin(), history.end(), tick,
                                 [](uint64_t value, const Epoch& epoch) { return value < epoch.first_tick; });
  return behind == history.begin() ? behind->clock : std::prev(behind)->clock;
}

uint64_t RaceChecker::known_to_all(uint32_t lane) const {
  uint64_t known = std::numeric_limits<uint64_t>::max();
  for (uint32_t other = 0; other < lanes_.size(); ++other)
    if (other != lane) known = std::min(known, clock(other)[lane]);
  return known;
}

// Drops clocks that no join can ask for: whoever knows of a task knows all that it waited for.
void RaceChecker::trim(uint32_t lane) {
  std::deque<Epoch>& history = lanes_[lane].history;
  const uint64_t known = known_to_all(lane);
  while (history.size() > 1 && history[1].first_tick <= known) history.pop_front();
  if (history.size() <= kMaxHistory) return;
  // The later clock stands in for the earlier one: it covers more, so that races may be missed.
  history[1].first_tick = history[0].first_tick;
  history.pop_front();
}

std::optional<std::string> RaceChecker::access(uint32_t lane, uint64_t tick, std::span<const MemoryAccess> accesses,
                                               std::string_view what) {
  const std::lock_guard lock(mutex_);
  lanes_[lane].tick = std::max(lanes_[lane].tick, tick);
  const Record now{lane, tick, std::make_shared<const std::string>(what)};
  std::optional<std::string> first;
  for (const MemoryAccess& access : accesses) {
    if (access.bytes == 0) continue;
    std::optional<std::string> race = check(now, access);
    if (!first) first = std::move(race);
  }
  return first;
}

void RaceChecker::drained() {
  const std::lock_guard lock(mutex_);
  shadow_.clear();
  Clock all;
  for (const Lane& lane : lanes_) all.push_back(lane.tick);
  for (Lane& lane : lanes_) lane.history.assign(1, {lane.tick + 1, all});
}

size_t RaceChecker::footprint() const {
  const std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const Lane& lane : lanes_) count += lane.history.size();
  for (const auto& [buffer, segments] : shadow_) count += segments.size();
  return count;
}

bool RaceChecker::races(const Record& record, uint32_t lane) const {
  return record.lane != lane && record.tick > clock(lane)[record.lane];
}

// Forgets records that no lane can race with any more.
void RaceChecker::settle(Segment& segment) const {
  if (segment.write && segment.write->tick <= known_to_all(segment.write->lane)) segment.write.reset();
  segment.reads.erase(std::remove_if(segment.reads.begin(), segment.reads.end(),
                                     [&](const Record& read) { return read.tick <= known_to_all(read.lane); }),
                      segment.reads.end());
}

// Makes a segment that holds byte `at` begin there.
void RaceChecker::split(Segments& segments, uint64_t at) {
  auto behind = segments.upper_bound(at);
  if (behind == segments.begin()) return;
  const auto holder = std::prev(behind);
  if (holder->first == at || holder->second.end <= at) return;
  segments.emplace_hint(behind, at, holder->second);
  holder->second.end = at;
}

void RaceChecker::fill_gaps(Segments& segments, uint64_t begin, uint64_t end) {
  for (auto next = segments.lower_bound(begin); begin < end; ++next) {
    const uint64_t gap_end = next == segments.end() ? end : std::min(end, next->first);
    if (begin < gap_end) next = segments.emplace_hint(next, begin, Segment{gap_end, {}, {}});
    begin = next->second.end;
  }
}

// Unites neighbours with equal records, from the segment before `begin` to the one behind `end`.
void RaceChecker::merge(Segments& segments, uint64_t begin, uint64_t end) {
  auto left = segments.lower_bound(begin);
  if (left != segments.begin()) --left;
  while (left != segments.end() && left->first < end) {
    const auto right = std::next(left);
    if (right == segments.end()) return;
    if (left->second.end == right->first && left->second.same_records(right->second)) {
      left->second.end = right->second.end;
      segments.erase(right);
    } else {
      left = right;
    }
  }
}

const RaceChecker::Record* RaceChecker::find_race(const Segment& segment, uint32_t lane, bool write,
                                                  bool& raced_write) const {
  raced_write = segment.write && races(*segment.write, lane);
  if (raced_write) return &*segment.write;
  if (!write) return nullptr;
  for (const Record& read : segment.reads)
    if (races(read, lane)) return &read;
  return nullptr;
}

std::optional<std::string> RaceChecker::check(const Record& now, const MemoryAccess& access) {
  Segments& segments = shadow_[access.buffer];
  const uint64_t begin = access.offset, end = access.offset + access.bytes;
  split(segments, begin);
  split(segments, end);
  fill_gaps(segments, begin, end);
  std::optional<std::string> race;
  for (auto at = segments.lower_bound(begin); at != segments.end() && at->first < end; ++at) {
    Segment& segment = at->second;
    bool raced_write = false;
    const Record* other = find_race(segment, now.lane, access.write, raced_write);
    if (other != nullptr && !race)
      race = cat("race on bytes [", at->first, ", ", segment.end, ") of a buffer: '", *now.what, "' (task ", now.tick,
                 " of lane ", now.lane, ") ", access.write ? "writes" : "reads", " them, '", *other->what, "' (task ",
                 other->tick, " of lane ", other->lane, ") ", raced_write ? "writes" : "reads",
                 " them, and no wait orders the two");
    settle(segment);
    if (access.write) {
      segment.write = now;
      segment.reads.clear();
      continue;
    }
    const auto mine = std::find_if(segment.reads.begin(), segment.reads.end(),
                                   [&](const Record& read) { return read.lane == now.lane; });
    if (mine == segment.reads.end())
      segment.reads.push_back(now);
    else
      *mine = now;
  }
  merge(segments, begin, end);
  return race;
}

}  // namespace backplane
