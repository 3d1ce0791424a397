#include "scheduler/execution/trace_json.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "backplane/base/text.hpp"
#include "scheduler/execution/pool_occupancy.hpp"
#include "scheduler/plan/task_accesses.hpp"

namespace backplane {
namespace {

// Threads of a device's process.
constexpr int64_t kLane = 1, kCopyLane = 2;

Json whole(uint64_t value) { return Json::integer(static_cast<int64_t>(value)); }
Json text(std::string_view value) { return Json::text(std::string(value)); }
Json process(uint32_t device) { return whole(uint64_t{device} + 1); }  // 0 has a meaning of its own to some viewers

// What the tasks of a plan do to the memory of it, which is the same in each run.
class MemoryUse {
 public:
  explicit MemoryUse(const Plan& plan)
      : plan_(plan), users_(plan.residences.size()), writer_(plan.residences.size(), kNone) {
    for (uint32_t task = 0; task < plan.tasks.size(); ++task) visit(task);
  }

  // From the task that wrote a tensor to the copy of it, and from the copy to the splits that read it.
  const std::vector<std::pair<uint32_t, uint32_t>>& flows() const { return flows_; }
  // The tasks that read or write a residence.
  const std::vector<uint32_t>& users(size_t residence) const { return users_[residence]; }

 private:
  // The number of a storage's residence for a device, or kNone.
  uint32_t find(StorageId storage, uint32_t device) const {
    const Residence* const found = plan_.residence(storage, device);
    return found == nullptr ? kNone : static_cast<uint32_t>(found - plan_.residences.data());
  }

  void use(uint32_t residence, uint32_t task) {
    if (users_[residence].empty() || users_[residence].back() != task) users_[residence].push_back(task);
  }

  void add_flow(uint32_t from, uint32_t to) {
    if (from != kNone &&
        std::ranges::find(flows_.begin() + flows_of_task_, flows_.end(), std::pair(from, to)) == flows_.end())
      flows_.emplace_back(from, to);
  }

  void visit(uint32_t index) {
    flows_of_task_ = static_cast<ptrdiff_t>(flows_.size());
    const Task& task = plan_.tasks[index];
    for_each_access(tasks_of(plan_), task, [&](const TaskAccess& access) {
      const uint32_t residence = find(access.storage, access.device);
      if (residence == kNone) return;
      use(residence, index);
      const uint32_t writer = writer_[residence];
      if (access.write)
        writer_[residence] = index;
      else if (task.is_copy || (writer != kNone && plan_.tasks[writer].is_copy))
        add_flow(writer, index);
    });
  }

  const Plan& plan_;
  std::vector<std::vector<uint32_t>> users_;  // by residence
  std::vector<uint32_t> writer_;              // by residence: the last task so far
  std::vector<std::pair<uint32_t, uint32_t>> flows_;
  ptrdiff_t flows_of_task_ = 0;
};

class Exporter {
 public:
  Exporter(const Plan& plan, std::span<const TraceEvent> events) : plan_(plan), memory_(plan) {
    for (const TraceEvent& event : events)
      if (event.task < plan.tasks.size()) events_.push_back(event);
    std::ranges::sort(events_, {}, [](const TraceEvent& e) { return std::tuple(e.begin_ns, e.run, e.task); });
    if (!events_.empty()) start_ns_ = events_.front().begin_ns;
    for (const TraceEvent& event : events_) runs_[event.run].emplace(event.task, &event);
  }

  Json run() {
    add_names();
    for (const TraceEvent& event : events_) add_slice(event);
    for (const auto& [run, tasks] : runs_)
      for (const auto& [from, to] : memory_.flows())
        if (tasks.contains(from) && tasks.contains(to)) add_flow(*tasks.at(from), *tasks.at(to));
    add_live_bytes();
    add_copied_bytes();
    return Json::object({{"displayTimeUnit", Json::text("ns")}, {"traceEvents", Json::array(std::move(list_))}});
  }

 private:
  static Json thread(const Task& task) { return Json::integer(task.lane == task.device ? kLane : kCopyLane); }
  Json time(uint64_t ns) const { return Json::number(static_cast<double>(ns - start_ns_) / 1000); }

  void add_names() {
    const auto name = [&](uint32_t device, const char* what, Json value, const char* key, int64_t thread = kLane) {
      list_.push_back(Json::object({{"ph", Json::text("M")},
                                    {"name", Json::text(what)},
                                    {"pid", process(device)},
                                    {"tid", Json::integer(thread)},
                                    {"args", Json::object({{key, std::move(value)}})}}));
    };
    for (uint32_t device = 0; device < plan_.device_names.size(); ++device) {
      name(device, "process_name", Json::text(plan_.device_names[device]), "name");
      name(device, "process_sort_index", whole(device), "sort_index");
      name(device, "thread_name", Json::text("lane"), "name");
      if (std::ranges::any_of(plan_.tasks,
                              [&](const Task& task) { return task.lane != device && task.device == device; }))
        name(device, "thread_name", Json::text("copies"), "name", kCopyLane);
    }
  }

  void add_slice(const TraceEvent& event) {
    const Task& task = plan_.tasks[event.task];
    list_.push_back(
        Json::object({{"ph", Json::text("X")},
                      {"cat", Json::text(task.is_copy ? "copy" : "split")},
                      {"name", Json::text(task.is_copy ? copy_name(task) : split_name(task.index))},
                      {"pid", process(task.device)},
                      {"tid", thread(task)},
                      {"ts", time(event.begin_ns)},
                      {"dur", Json::number(static_cast<double>(event.end_ns - event.begin_ns) / 1000)},
                      {"args", task.is_copy ? copy_args(event, task) : split_args(event, plan_.splits[task.index])}}));
  }

  std::string storage_name(StorageId storage) const {
    const TensorId root = plan_.graph->storage(storage).root;
    const std::string_view name = plan_.graph->tensor_name(root);
    return name.empty() ? cat("tensor ", root) : std::string(name);
  }

  std::string copy_name(const Task& task) const {
    const size_t others = plan_.transfer(task).size() - 1;
    return cat("copy ", storage_name(plan_.copies[task.index].storage),
               others == 0 ? "" : cat(" and ", others, " more"));
  }

  std::string split_name(uint32_t index) const {
    const std::span<const NodeId> nodes = plan_.nodes(plan_.splits[index]);
    const std::string_view first = op_name(plan_.graph->op(nodes.front())),
                           last = op_name(plan_.graph->op(nodes.back()));
    if (nodes.size() == 1) return cat("split ", index, " (", first, ")");
    return cat("split ", index, " (", first, "..", last, ", ", nodes.size(), " nodes)");
  }

  uint64_t copied_bytes(const Task& task) const {
    uint64_t bytes = 0;
    for (const PlannedCopy& copy : plan_.transfer(task)) bytes += copy.bytes();
    return bytes;
  }

  Json copy_args(const TraceEvent& event, const Task& task) const {
    const PlannedCopy& copy = plan_.copies[task.index];
    return Json::object({{"run", whole(event.run)},
                         {"tensor", Json::text(plan_.transfer_text(task))},
                         {"from", Json::text(plan_.device_names[copy.from])},
                         {"to", Json::text(plan_.device_names[copy.to])},
                         {"bytes", whole(copied_bytes(task))},
                         {"rows", whole(copy.rows)},
                         {"write_back", Json::boolean(copy.write_back)}});
  }

  Json split_args(const TraceEvent& event, const Split& split) const {
    const std::span<const NodeId> nodes = plan_.nodes(split);
    std::map<std::string_view, uint64_t> counts;
    uint64_t bytes = 0;
    for (const NodeId node : nodes) {
      ++counts[op_name(plan_.graph->op(node))];
      for (const TensorId output : plan_.graph->node_outputs(node))
        if (output != kNone) bytes += plan_.graph->tensor(output).bytes;
    }
    Json ops = Json::object();
    for (const auto& [op, count] : counts) ops.set(std::string(op), whole(count));
    return Json::object({{"run", whole(event.run)},
                         {"nodes", Json::text(cat(nodes.front(), "..", nodes.back()))},
                         {"node_count", whole(nodes.size())},
                         {"ops", std::move(ops)},
                         {"bytes_written", whole(bytes)},
                         {"cause", text(cause_name(plan_.placements[nodes.front()].cause))}});
  }

  // An arrow starts within the slice that it comes from, at its end, and ends where the other begins.
  void add_flow(const TraceEvent& from, const TraceEvent& to) {
    const auto add = [&](const char* phase, const TraceEvent& event, uint64_t ns) {
      Json flow = Json::object({{"ph", Json::text(phase)},
                                {"cat", Json::text("data")},
                                {"name", Json::text("data")},
                                {"id", whole(flow_count_)},
                                {"pid", process(plan_.tasks[event.task].device)},
                                {"tid", thread(plan_.tasks[event.task])},
                                {"ts", time(ns)}});
      if (*phase == 'f') flow.set("bp", Json::text("e"));
      list_.push_back(std::move(flow));
    };
    ++flow_count_;
    add("s", from, from.end_ns > from.begin_ns ? from.end_ns - 1 : from.end_ns);
    add("f", to, to.begin_ns);
  }

  void add_counter(std::string name, uint32_t device, uint64_t ns, uint64_t bytes) {
    list_.push_back(Json::object({{"ph", Json::text("C")},
                                  {"name", Json::text(std::move(name))},
                                  {"pid", process(device)},
                                  {"ts", time(ns)},
                                  {"args", Json::object({{"bytes", whole(bytes)}})}}));
  }

  // What is in an arena lives from the begin of the first task that uses it to the end of the last one; ports stay.
  void add_live_bytes() {
    std::vector<std::vector<Change>> changes(plan_.pools.size());
    for (const auto& [run, tasks] : runs_)
      for (uint32_t residence = 0; residence < plan_.residences.size(); ++residence)
        add_life(tasks, residence, changes);
    for (uint32_t pool = 0; pool < changes.size(); ++pool)
      plan_.pools[pool].kind == PoolKind::arena ? add_arena(pool, changes[pool]) : add_ports(pool);
  }

  using TasksOfRun = std::map<uint32_t, const TraceEvent*>;
  struct Change {
    uint64_t ns;
    bool begins;  // a residence ends before another begins at the same time
    uint32_t residence;
    auto operator<=>(const Change&) const = default;
  };

  void add_life(const TasksOfRun& tasks, uint32_t residence, std::vector<std::vector<Change>>& changes) const {
    const uint32_t pool = plan_.residences[residence].pool;
    if (pool == kNone || plan_.pools[pool].kind != PoolKind::arena) return;
    uint64_t begin_ns = UINT64_MAX, end_ns = 0;
    for (const uint32_t user : memory_.users(residence)) {
      const auto found = tasks.find(user);
      if (found == tasks.end()) continue;
      begin_ns = std::min(begin_ns, found->second->begin_ns);
      end_ns = std::max(end_ns, found->second->end_ns);
    }
    if (begin_ns >= end_ns) return;
    changes[pool].push_back({begin_ns, true, residence});
    changes[pool].push_back({end_ns, false, residence});
  }

  void add_arena(uint32_t pool, std::vector<Change>& changes) {
    std::ranges::sort(changes);
    PoolOccupancy occupancy(plan_, pool);
    uint64_t shown = 0;
    for (size_t i = 0; i < changes.size(); ++i) {
      changes[i].begins ? occupancy.add(changes[i].residence) : occupancy.remove(changes[i].residence);
      const bool last = i + 1 == changes.size() || changes[i + 1].ns != changes[i].ns;
      if (!last || occupancy.bytes() == shown) continue;
      shown = occupancy.bytes();
      add_counter(cat("live bytes, pool ", pool), plan_.pools[pool].device, changes[i].ns, shown);
    }
  }

  void add_ports(uint32_t pool) {
    if (events_.empty()) return;
    add_counter(cat("live bytes, pool ", pool, " (ports)"), plan_.pools[pool].device, start_ns_,
                plan_.pools[pool].peak_bytes);
  }

  void add_copied_bytes() {
    std::map<uint64_t, std::map<uint32_t, uint64_t>> arrivals;  // time -> device -> bytes
    for (const TraceEvent& event : events_)
      if (const Task& task = plan_.tasks[event.task]; task.is_copy)
        arrivals[event.end_ns][task.device] += copied_bytes(task);
    std::map<uint32_t, uint64_t> sums;
    for (const auto& [ns, devices] : arrivals)
      for (const auto& [device, bytes] : devices) add_counter("bytes copied", device, ns, sums[device] += bytes);
  }

  const Plan& plan_;
  const MemoryUse memory_;
  std::vector<TraceEvent> events_;  // by begin
  std::map<uint64_t, TasksOfRun> runs_;
  uint64_t start_ns_ = 0, flow_count_ = 0;
  std::vector<Json> list_;
};

}  // namespace

Json trace_json(const Plan& plan, std::span<const TraceEvent> events) { return Exporter(plan, events).run(); }

}  // namespace backplane
