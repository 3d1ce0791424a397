// backplane plan
#include <cstdio>

#include "backplane/base/text.hpp"
#include "backplane/scheduler/plan.hpp"
#include "json_output.hpp"
#include "model_inputs.hpp"
#include "plan_html.hpp"
#include "table.hpp"
#include "targets.hpp"
#include "verbs.hpp"

namespace backplane::cli {
namespace {

std::string storage_text(const Graph& graph, StorageId storage) {
  const TensorId root = graph.storage(storage).root;
  const std::string_view name = graph.tensor_name(root);
  return name.empty() ? cat("#", root) : std::string(name);
}

std::string device_text(const Plan& plan, uint32_t device) {
  return device == kNone ? "host" : plan.device_names[device];
}

void print_splits(const Plan& plan) {
  Table table({"SPLIT", "DEVICE", "NODES", "FIRST", "LAST", "COPIES", "COPIED"});
  table.align_right({0, 2, 5, 6});
  std::vector<uint64_t> copies(plan.splits.size()), bytes(plan.splits.size());
  for (const PlannedCopy& copy : plan.copies) {
    ++copies[copy.split];
    bytes[copy.split] += copy.bytes();
  }
  for (size_t i = 0; i < plan.splits.size(); ++i) {
    const Split& split = plan.splits[i];
    const auto node_text = [&](NodeId node) { return cat(node, " ", op_name(plan.graph->op(node))); };
    table.add({cat(i), device_text(plan, split.device), cat(split.node_count), node_text(plan.nodes(split).front()),
               node_text(plan.nodes(split).back()), cat(copies[i]), bytes_text(bytes[i])});
  }
  table.print();
}

void print_copies(const Plan& plan) {
  Table table({"COPY", "SPLIT", "FROM", "TO", "BYTES", "ROWS", "TENSOR"});
  table.align_right({0, 1, 4, 5});
  for (size_t i = 0; i < plan.copies.size(); ++i) {
    const PlannedCopy& copy = plan.copies[i];
    table.add({cat(copy.joined ? "+" : "", i), cat(copy.write_back ? "after " : "", copy.split),
               device_text(plan, copy.from), device_text(plan, copy.to), bytes_text(copy.bytes()), cat(copy.rows),
               storage_text(*plan.graph, copy.storage)});
  }
  table.print();
}

void print_pools(const Plan& plan) {
  Table table({"POOL", "DEVICE", "KIND", "MEMORY TYPE", "PEAK", "BOUND", "OVER BOUND", "METHOD", "COMPARISONS"});
  table.align_right({0, 3, 4, 5, 6, 8});
  for (size_t i = 0; i < plan.pools.size(); ++i) {
    const Pool& pool = plan.pools[i];
    char over[32] = "-";
    if (pool.lower_bound_bytes != 0)
      std::snprintf(over, sizeof over, "%.2f %%",
                    100.0 * (static_cast<double>(pool.peak_bytes) / static_cast<double>(pool.lower_bound_bytes) - 1));
    table.add({cat(i), device_text(plan, pool.device), pool.kind == PoolKind::arena ? "arena" : "ports",
               cat(pool.memtype), bytes_text(pool.peak_bytes), bytes_text(pool.lower_bound_bytes), over,
               std::string(pool.method), cat(pool.comparisons)});
  }
  table.print();
}

void print_nodes(const Plan& plan) {
  Table table({"NODE", "OP", "DEVICE", "CAUSE", "OUTPUT", "NAME", "WHY"});
  table.align_right({0});
  for (NodeId node = 0; node < plan.graph->node_count(); ++node) {
    std::string output = "-";
    for (const TensorId id : plan.graph->node_outputs(node))
      if (id != kNone && output == "-") output = plan.graph->tensor_text(id);
    const Placement& placement = plan.placements[node];
    table.add({cat(node), std::string(op_name(plan.graph->op(node))), device_text(plan, placement.device),
               std::string(cause_name(placement.cause)), output, std::string(plan.graph->node_name(node)),
               plan.explain(node)});
  }
  table.print();
}

void print_plan(const OnnxModel& model, const Plan& plan) {
  std::printf("devices: %s; mode %s\n", join(plan.device_names, ", ").c_str(),
              std::string(mode_name(plan.mode)).c_str());
  for (const std::string& value : model.specialised) std::printf("fixed by its value: %s\n", printable(value).c_str());
  for (const std::string& note : model.notes) std::printf("note: %s\n", printable(note).c_str());
  std::puts(cat(counted(plan.graph->node_count(), "node", "nodes"), ", ",
                counted(plan.splits.size(), "split", "splits"), ", ", counted(plan.copies.size(), "copy", "copies"),
                " of ", bytes_text(plan.copy_bytes), " in a run, ", bytes_text(plan.weight_bytes), " of weights\n")
                .c_str());
  print_splits(plan);
  if (!plan.copies.empty()) std::puts("");
  if (!plan.copies.empty()) print_copies(plan);
  std::puts("");
  print_pools(plan);
  std::puts("");
  print_nodes(plan);
}

}  // namespace

Result<ExitCode> show_plan(const Arguments& arguments) {
  BP_TRY_ASSIGN(const auto runtime, open_runtime(arguments));
  BP_TRY_ASSIGN(const Targets targets, select_targets(*runtime, arguments));
  BP_TRY_ASSIGN(const LoadedModel loaded, load_model(arguments.model, InputsNeeded::shapes, {}));
  BP_TRY_ASSIGN(const auto plan, make_plan(loaded.model.graph, targets.devices, targets.options));
  if (arguments.plan.html)
    std::puts(plan_html(*plan, arguments.model.model).c_str());
  else if (arguments.common.json)
    print_json(plan->to_json());
  else
    print_plan(loaded.model, *plan);
  return ExitCode::ok;
}

}  // namespace backplane::cli
