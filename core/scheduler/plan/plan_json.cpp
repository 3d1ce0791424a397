#include "backplane/scheduler/plan.hpp"

namespace backplane {
namespace {

Json whole(uint64_t value) { return Json::integer(static_cast<int64_t>(value)); }
Json whole_or_null(uint32_t value) { return value == kNone ? Json() : whole(value); }
Json text(std::string_view value) { return Json::text(std::string(value)); }

template <class Values>
Json list_of(const Values& values) {
  Json list = Json::array();
  for (const auto value : values) list.push(whole(value));
  return list;
}

Json root_text(const Plan& plan, StorageId storage) {
  return Json::text(plan.graph->tensor_text(plan.graph->storage(storage).root));
}

Json device_name(const Plan& plan, uint32_t device) {
  return device == kNone ? Json() : Json::text(plan.device_names[device]);
}

bool decided_by_tensor(Cause cause) {
  return cause == Cause::location || cause == Cause::weight || cause == Cause::offload;
}

std::string_view verdict_name(uint32_t verdict) {
  if (verdict == BP_VERDICT_PREFERRED) return "preferred";
  return verdict == BP_VERDICT_SLOW ? "slow" : "yes";
}

Json nodes_json(const Plan& plan) {
  Json list = Json::array();
  for (NodeId node = 0; node < plan.graph->node_count(); ++node) {
    const Placement& placement = plan.placements[node];
    const bool tensor = decided_by_tensor(placement.cause);
    list.push(Json::object({{"node", whole(node)},
                            {"name", text(plan.graph->node_name(node))},
                            {"op", text(op_name(plan.graph->op(node)))},
                            {"device", device_name(plan, placement.device)},
                            {"verdict", text(verdict_name(placement.verdict))},
                            {"cause", text(cause_name(placement.cause))},
                            {"because_tensor", tensor ? whole_or_null(placement.because) : Json()},
                            {"because_node", tensor ? Json() : whole_or_null(placement.because)},
                            {"runner_up", device_name(plan, placement.runner_up)},
                            {"saved_ns", placement.runner_up == kNone ? Json() : Json::integer(placement.saved_ns)},
                            {"why", Json::text(plan.explain(node))}}));
  }
  return list;
}

Json splits_json(const Plan& plan) {
  Json list = Json::array();
  for (const Split& split : plan.splits)
    list.push(Json::object({{"device", device_name(plan, split.device)},
                            {"first_node", whole(split.first_node)},
                            {"node_count", whole(split.node_count)},
                            {"nodes", list_of(plan.nodes(split))}}));
  return list;
}

Json copies_json(const Plan& plan) {
  Json list = Json::array();
  for (const PlannedCopy& copy : plan.copies)
    list.push(Json::object({{"tensor", root_text(plan, copy.storage)},
                            {"storage", whole(copy.storage)},
                            {"from", device_name(plan, copy.from)},
                            {"to", device_name(plan, copy.to)},
                            {"bytes", whole(copy.bytes())},
                            {"offset", whole(copy.offset)},
                            {"row_bytes", whole(copy.row_bytes)},
                            {"rows", whole(copy.rows)},
                            {"pitch_bytes", copy.rows == 1 ? Json() : whole(copy.pitch_bytes)},
                            {"split", whole(copy.split)},
                            {"write_back", Json::boolean(copy.write_back)},
                            {"joined", Json::boolean(copy.joined)}}));
  return list;
}

Json tasks_json(const Plan& plan) {
  Json list = Json::array();
  for (const Task& task : plan.tasks)
    list.push(Json::object(
        {{"kind", Json::text(task.is_copy ? "copy" : "split")},
         {"index", whole(task.index)},
         {"device", device_name(plan, task.device)},
         {"beside", Json::boolean(task.lane != task.device)},
         {"waits", list_of(std::span(plan.waits).subspan(task.first_wait, task.wait_count))},
         {"carried_waits", list_of(std::span(plan.carried_waits).subspan(task.first_carried, task.carried_count))}}));
  return list;
}

Json pools_json(const Plan& plan) {
  Json list = Json::array();
  for (const Pool& pool : plan.pools)
    list.push(Json::object({{"device", device_name(plan, pool.device)},
                            {"memory_type", whole(pool.memtype)},
                            {"kind", Json::text(pool.kind == PoolKind::arena ? "arena" : "ports")},
                            {"chunk_bytes", list_of(pool.chunk_bytes)},
                            {"peak_bytes", whole(pool.peak_bytes)},
                            {"lower_bound_bytes", whole(pool.lower_bound_bytes)},
                            {"method", text(pool.method)},
                            {"comparisons", whole(pool.comparisons)}}));
  return list;
}

Json residences_json(const Plan& plan) {
  Json list = Json::array();
  for (const Residence& residence : plan.residences) {
    const bool pooled = residence.pool != kNone;
    list.push(Json::object({{"storage", whole(residence.storage)},
                            {"tensor", root_text(plan, residence.storage)},
                            {"device", device_name(plan, residence.device)},
                            {"home", Json::boolean(plan.homes[residence.storage] == residence.device)},
                            {"pool", whole_or_null(residence.pool)},
                            {"chunk", pooled ? whole(residence.chunk) : Json()},
                            {"offset", pooled ? whole(residence.offset) : Json()},
                            {"in_place_of", whole_or_null(residence.in_place_of)},
                            {"first_step", whole(residence.first_step)},
                            {"last_step", whole(residence.last_step)}}));
  }
  return list;
}

}  // namespace

Json Plan::to_json() const {
  Json devices = Json::array();
  for (const std::string& name : device_names) devices.push(Json::text(name));
  return Json::object({{"mode", text(mode_name(mode))},
                       {"devices", std::move(devices)},
                       {"order", list_of(order)},
                       {"splits", splits_json(*this)},
                       {"copies", copies_json(*this)},
                       {"copy_bytes", whole(copy_bytes)},
                       {"tasks", tasks_json(*this)},
                       {"sequential", Json::boolean(sequential)},
                       {"weight_bytes", whole(weight_bytes)},
                       {"pools", pools_json(*this)},
                       {"residences", residences_json(*this)},
                       {"nodes", nodes_json(*this)}});
}

}  // namespace backplane
