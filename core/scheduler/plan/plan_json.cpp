#include "backplane/scheduler/plan.hpp"

namespace backplane {
namespace {

Json whole(uint64_t value) { return Json::integer(static_cast<int64_t>(value)); }

Json list_of(std::span<const uint32_t> values) {
  Json list = Json::array();
  for (const uint32_t value : values) list.push(whole(value));
  return list;
}

Json nodes_json(const Plan& plan) {
  Json list = Json::array();
  for (NodeId node = 0; node < plan.graph->node_count(); ++node) {
    const Placement& placement = plan.placements[node];
    list.push(Json::object({{"node", whole(node)},
                            {"name", Json::text(std::string(plan.graph->node_name(node)))},
                            {"op", Json::text(std::string(op_name(plan.graph->op(node))))},
                            {"device", Json::text(plan.device_names[placement.device])},
                            {"cause", Json::text(std::string(cause_name(placement.cause)))}}));
  }
  return list;
}

Json splits_json(const Plan& plan) {
  Json list = Json::array();
  for (const Split& split : plan.splits)
    list.push(
        Json::object({{"device", Json::text(plan.device_names[split.device])}, {"nodes", list_of(plan.nodes(split))}}));
  return list;
}

Json copies_json(const Plan& plan) {
  Json list = Json::array();
  for (const PlannedCopy& copy : plan.copies) {
    const TensorId root = plan.graph->storage(copy.storage).root;
    list.push(Json::object({{"tensor", Json::text(plan.graph->tensor_text(root))},
                            {"from", Json::text(plan.device_names[copy.from])},
                            {"to", Json::text(plan.device_names[copy.to])},
                            {"bytes", whole(copy.bytes())},
                            {"split", whole(copy.split)},
                            {"write_back", Json::boolean(copy.write_back)}}));
  }
  return list;
}

Json pools_json(const Plan& plan) {
  Json list = Json::array();
  for (const Pool& pool : plan.pools)
    list.push(Json::object({{"device", Json::text(plan.device_names[pool.device])},
                            {"memory_type", whole(pool.memtype)},
                            {"chunks", whole(pool.chunk_bytes.size())},
                            {"peak_bytes", whole(pool.peak_bytes)},
                            {"lower_bound_bytes", whole(pool.lower_bound_bytes)}}));
  return list;
}

}  // namespace

Json Plan::to_json() const {
  Json devices = Json::array();
  for (const std::string& name : device_names) devices.push(Json::text(name));
  return Json::object({{"devices", std::move(devices)},
                       {"splits", splits_json(*this)},
                       {"copies", copies_json(*this)},
                       {"copy_bytes", whole(copy_bytes)},
                       {"weight_bytes", whole(weight_bytes)},
                       {"pools", pools_json(*this)},
                       {"nodes", nodes_json(*this)}});
}

}  // namespace backplane
