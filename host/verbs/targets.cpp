#include "targets.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"
#include "common.hpp"

namespace backplane::cli {
namespace {

// PlanOptions::memory_comparisons: a model's plan is made once and used for long.
constexpr uint64_t kMemoryComparisons = 20'000;

// The options that say what goes where, over the devices that --device left.
class Assignments {
 public:
  Assignments(const Runtime& runtime, const ModelArguments& model, const std::vector<Device*>& devices)
      : runtime_(runtime), model_(model), devices_(devices) {}

  // `option` is for messages, such as "--pin first=gpu0".
  Result<uint32_t> device(const std::string& option, const std::string& selector) const {
    BP_TRY_ASSIGN(Device* const device, runtime_.device(selector));
    const auto found = std::find(devices_.begin(), devices_.end(), device);
    if (found == devices_.end())
      return not_found(cat(option, ": --device ", model_.devices, " leaves ", device->name(), " out"));
    return static_cast<uint32_t>(found - devices_.begin());
  }

  Status parse(const std::string& option, const std::string& form, const std::vector<std::string>& arguments,
               std::vector<std::pair<std::string, uint32_t>>& assignments) const {
    for (const std::string& argument : arguments) {
      // Names of nodes and tensors may hold '='; device names do not.
      const size_t at = argument.rfind('=');
      if (at == std::string::npos || at == 0)
        return usage_error(cat(option, " '", argument, "' is not of the form ", form));
      BP_TRY_ASSIGN(const uint32_t number, device(cat(option, " ", argument), argument.substr(at + 1)));
      assignments.emplace_back(argument.substr(0, at), number);
    }
    return {};
  }

 private:
  const Runtime& runtime_;
  const ModelArguments& model_;
  const std::vector<Device*>& devices_;
};

PlacementMode find_mode(const std::string& name) {
  for (const PlacementMode mode : {PlacementMode::greedy, PlacementMode::cost})
    if (name == mode_name(mode)) return mode;
  return PlacementMode::mincomm;  // the parser lets nothing else through
}

// A cache that cannot be used is no reason not to run; a file that the user has named is one.
Result<std::vector<DeviceCosts>> find_costs(Runtime& runtime, const std::vector<Device*>& devices,
                                            const std::string& file) {
  if (!file.empty()) return calibrate(runtime, devices, file);
  const std::string folder = Environment::process().cache_folder();
  if (folder.empty()) return calibrate(runtime, devices);
  Result<std::vector<DeviceCosts>> costs = calibrate(runtime, devices, folder + "/costs.json");
  if (costs.ok()) return costs;
  runtime.log().write(LogLevel::warn, "scheduler",
                      cat("the costs of devices are measured anew: ", costs.status().message()));
  return calibrate(runtime, devices);
}

}  // namespace

Result<Targets> select_targets(Runtime& runtime, const Arguments& arguments) {
  if (runtime.devices().empty()) return no_devices(runtime, arguments.common);
  const ModelArguments& model = arguments.model;
  Targets targets;
  PlanOptions& options = targets.options;
  BP_TRY_ASSIGN(targets.devices, runtime.select(model.devices));
  const Assignments assignments(runtime, model, targets.devices);
  BP_TRY(assignments.parse("--pin", "NODE=DEVICE", model.pins, options.pins));
  BP_TRY(assignments.parse("--location", "TENSOR=DEVICE", model.locations, options.locations));
  if (!model.weights_device.empty()) {
    BP_TRY_ASSIGN(options.weights_device,
                  assignments.device(cat("--weights ", model.weights_device), model.weights_device));
  }
  options.mode = find_mode(model.mode);
  if (options.mode == PlacementMode::cost) {
    BP_TRY_ASSIGN(options.device_costs, find_costs(runtime, targets.devices, model.costs_file));
  }
  options.reorder_window = model.reorder_window;
  options.reuse_memory = !model.no_reuse;
  options.memory_comparisons = kMemoryComparisons;
  return targets;
}

}  // namespace backplane::cli
