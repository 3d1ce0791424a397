#include "trace_check.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "backplane/base/text.hpp"

namespace backplane::testing {
namespace {

using Lane = std::pair<int64_t, int64_t>;  // pid, tid

struct Slice {
  int64_t begin_ns, end_ns;
};

struct Arrow {
  int starts = 0, ends = 0;
  int64_t start_ns = 0, end_ns = 0;
  Lane from, to;
};

int64_t nanoseconds(const Json& microseconds) { return std::llround(microseconds.as_number() * 1000); }

class Checker {
 public:
  Checker(const Plan& plan, uint64_t runs) : plan_(plan), runs_(runs) {}

  std::vector<std::string> check(const Json& trace) {
    const Json* const events = trace.is(Json::Kind::object) ? trace.find("traceEvents") : nullptr;
    if (events == nullptr || !events->is(Json::Kind::array)) return {"no array 'traceEvents'"};
    for (const Json& event : events->items())
      if (has_keys(event)) take(event);
    check_slices();
    for (const auto& [id, arrow] : arrows_) check_arrow(id, arrow);
    for (const int64_t pid : used_)
      if (!named_.contains(pid)) faults_.push_back(cat("process ", pid, " has no name"));
    if (copied_ != plan_.copy_bytes * runs_)
      faults_.push_back(cat("copied ", copied_, " bytes, the plan has ", plan_.copy_bytes, " in each of ", runs_));
    return std::move(faults_);
  }

 private:
  bool has_keys(const Json& event) {
    const Json* const phase = event.is(Json::Kind::object) ? event.find("ph") : nullptr;
    if (phase == nullptr || !phase->is(Json::Kind::text)) return fault("an event without 'ph'", event);
    static const std::map<std::string, std::vector<std::string>> kKeys = {{"M", {"args"}},
                                                                          {"X", {"tid", "ts", "dur", "args", "cat"}},
                                                                          {"C", {"ts", "args"}},
                                                                          {"s", {"tid", "ts", "id", "cat"}},
                                                                          {"f", {"tid", "ts", "id", "cat", "bp"}}};
    const auto keys = kKeys.find(phase->as_text());
    if (keys == kKeys.end()) return fault("an unknown phase", event);
    for (const std::string& key : keys->second)
      if (event.find(key) == nullptr) return fault("no '" + key + "'", event);
    const Json *pid = event.find("pid"), *name = event.find("name"), *ts = event.find("ts"), *dur = event.find("dur");
    if (pid == nullptr || !pid->is(Json::Kind::integer)) return fault("no whole 'pid'", event);
    if (name == nullptr || !name->is(Json::Kind::text) || name->as_text().empty()) return fault("no 'name'", event);
    if (ts != nullptr && ts->as_number() < 0) return fault("a time before the start", event);
    return dur == nullptr || dur->as_number() >= 0 || fault("a negative duration", event);
  }

  bool fault(const std::string& what, const Json& event) {
    faults_.push_back(what + ": " + event.dump(-1));
    return false;
  }

  void take(const Json& event) {
    const std::string& phase = event.find("ph")->as_text();
    const int64_t pid = event.find("pid")->as_integer();
    if (phase != "M") used_.insert(pid);
    if (phase == "M" && event.find("name")->as_text() == "process_name") named_.insert(pid);
    if (phase == "X") take_slice(event, {pid, event.find("tid")->as_integer()});
    if (phase == "C") take_counter(event);
    if (phase != "s" && phase != "f") return;
    Arrow& arrow = arrows_[event.find("id")->as_integer()];
    const Lane lane = {pid, event.find("tid")->as_integer()};
    ++(phase == "s" ? arrow.starts : arrow.ends);
    (phase == "s" ? arrow.start_ns : arrow.end_ns) = nanoseconds(*event.find("ts"));
    (phase == "s" ? arrow.from : arrow.to) = lane;
  }

  void take_slice(const Json& event, Lane lane) {
    const int64_t begin = nanoseconds(*event.find("ts"));
    slices_[lane].push_back({begin, begin + nanoseconds(*event.find("dur"))});
    if (event.find("cat")->as_text() == "copy")
      copied_ += static_cast<uint64_t>(event.find("args")->find("bytes")->as_integer());
  }

  void take_counter(const Json& event) {
    const std::string& name = event.find("name")->as_text();
    for (const auto& [key, value] : event.find("args")->members()) {
      if (!value.is(Json::Kind::integer) || value.as_integer() < 0) fault("a counter below 0", event);
      for (size_t pool = 0; pool < plan_.pools.size(); ++pool)
        if (name == cat("live bytes, pool ", pool) &&
            static_cast<uint64_t>(value.as_integer()) > plan_.pools[pool].peak_bytes)
          fault(cat("more live bytes than the ", plan_.pools[pool].peak_bytes, " of the pool"), event);
    }
  }

  void check_slices() {
    for (auto& [lane, slices] : slices_) {
      std::ranges::sort(slices, {}, [](const Slice& s) { return std::pair(s.begin_ns, s.end_ns); });
      for (size_t i = 1; i < slices.size(); ++i)
        if (slices[i].begin_ns < slices[i - 1].end_ns)
          faults_.push_back(cat("slices of lane ", lane.first, " overlap at ", slices[i].begin_ns, " ns"));
    }
  }

  bool within_a_slice(Lane lane, int64_t ns) const {
    const auto slices = slices_.find(lane);
    return slices != slices_.end() && std::ranges::any_of(slices->second, [ns](const Slice& slice) {
             return slice.begin_ns <= ns && ns <= slice.end_ns;
           });
  }

  void check_arrow(int64_t id, const Arrow& arrow) {
    if (arrow.starts != 1 || arrow.ends != 1) {
      faults_.push_back(cat("arrow ", id, " has ", arrow.starts, " starts and ", arrow.ends, " ends"));
      return;
    }
    if (arrow.start_ns > arrow.end_ns) faults_.push_back(cat("arrow ", id, " goes back in time"));
    if (!within_a_slice(arrow.from, arrow.start_ns)) faults_.push_back(cat("arrow ", id, " starts in no slice"));
    if (!within_a_slice(arrow.to, arrow.end_ns)) faults_.push_back(cat("arrow ", id, " ends in no slice"));
  }

  const Plan& plan_;
  const uint64_t runs_;
  std::vector<std::string> faults_;
  std::map<Lane, std::vector<Slice>> slices_;
  std::map<int64_t, Arrow> arrows_;
  std::set<int64_t> used_, named_;
  uint64_t copied_ = 0;
};

}  // namespace

std::vector<std::string> trace_faults(const Json& trace, const Plan& plan, uint64_t runs) {
  return Checker(plan, runs).check(trace);
}

}  // namespace backplane::testing
