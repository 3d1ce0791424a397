#include "backplane/scheduler/plan.hpp"

#include <numeric>

#include "backplane/base/text.hpp"
#include "capability.hpp"
#include "memory_layout.hpp"
#include "placement.hpp"
#include "splitter.hpp"

namespace backplane {
namespace {

uint64_t sum_of_weights(const Graph& graph, const std::vector<Residence>& residences) {
  uint64_t bytes = 0;
  for (const Residence& residence : residences)
    if (residence.pool == kNone) bytes += graph.storage(residence.storage).bytes;
  return bytes;
}

}  // namespace

std::string_view cause_name(Cause cause) {
  switch (cause) {
    case Cause::pin:
      return "pin";
    case Cause::location:
      return "location";
    case Cause::weight:
      return "weight";
    case Cause::expand_down:
      return "expand-down";
    case Cause::expand_up:
      return "expand-up";
    case Cause::most_inputs:
      return "most-inputs";
    case Cause::upgrade:
      return "upgrade";
    case Cause::fallback:
      return "fallback";
  }
  return "unknown";
}

Result<std::shared_ptr<const Plan>> make_plan(std::shared_ptr<const Graph> graph, const std::vector<Device*>& devices,
                                              const PlanOptions& options) {
  if (devices.empty())
    return failed_precondition("a plan needs at least one device, and there is none; `backplane plugins` says why",
                               "plan.no-devices");
  BP_TRY_ASSIGN(const Capability capability, Capability::ask(*graph, devices, options.refusals));
  auto plan = std::make_shared<Plan>();
  BP_TRY_ASSIGN(plan->placements, place_greedy(*graph, capability, devices, options));
  SplitResult cut = split_graph(*graph, capability, plan->placements);
  BP_TRY_ASSIGN(MemoryLayout layout, lay_out_memory(*graph, devices, cut));
  for (const Device* device : devices) plan->device_names.push_back(device->name());
  plan->copy_bytes = std::accumulate(cut.copies.begin(), cut.copies.end(), uint64_t{0},
                                     [](uint64_t sum, const PlannedCopy& copy) { return sum + copy.bytes; });
  plan->weight_bytes = sum_of_weights(*graph, layout.residences);
  plan->splits = std::move(cut.splits);
  plan->copies = std::move(cut.copies);
  plan->homes = std::move(cut.home);
  plan->residences = std::move(layout.residences);
  plan->pools = std::move(layout.pools);
  plan->graph = std::move(graph);
  return std::shared_ptr<const Plan>(std::move(plan));
}

}  // namespace backplane
