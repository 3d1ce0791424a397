#include "backplane/runtime/runtime.hpp"

#include <algorithm>
#include <atomic>
#include <set>

#include "backplane/base/text.hpp"
#include "backplane/base/thread_pool.hpp"
#include "registry/registry.hpp"

namespace backplane {
namespace {

// The place of a device type in the list.
int type_order(uint32_t type) {
  switch (type) {
    case BP_DEVICE_GPU:
      return 0;
    case BP_DEVICE_IGPU:
      return 1;
    case BP_DEVICE_CPU:
      return 3;
    default:
      return 2;
  }
}

std::string_view event_name(uint32_t what) {
  switch (what) {
    case BP_DEVICE_EVENT_LOST:
      return "lost";
    case BP_DEVICE_EVENT_BACK:
      return "back";
    case BP_DEVICE_EVENT_MEMORY_PRESSURE:
      return "short of memory";
    default:
      return "in an unknown state";
  }
}

// Two plugins may call their devices the same: the second "cpu0" becomes "cpu0.2".
void make_names_unique(std::span<Device* const> devices) {
  std::set<std::string> names;
  for (Device* device : devices) {
    std::string name = device->name();
    for (int i = 2; !names.insert(name).second; ++i) name = cat(device->name(), ".", i);
    device->rename(std::move(name));
  }
}

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

}  // namespace

// In the order of their making: devices go first, the logger last.
struct Runtime::State {
  std::shared_ptr<Logger> logger;
  std::unique_ptr<ThreadPool> own_pool;
  Workers* workers = nullptr;
  std::unique_ptr<Registry> registry;
  std::vector<std::unique_ptr<Device>> devices;
  std::atomic<bp_run_id> next_run{1};

  void open_registry(RuntimeOptions options);
  Status add_devices(const Plugin& plugin);
};

void Runtime::State::open_registry(RuntimeOptions options) {
  RegistryOptions own;
  own.plugin_paths = std::move(options.plugin_paths);
  own.search_system = options.search_system;
  own.environment = options.environment ? std::move(*options.environment) : Environment::process();
  own.host_name = std::move(options.host_name);
  own.on_device_event = [log = logger](const std::string& plugin_id, bp_device*, uint32_t what, const Status& reason) {
    log->write(LogLevel::warn, plugin_id,
               cat("a device is ", event_name(what), reason.ok() ? "" : ": ", reason.message()));
  };
  registry = std::make_unique<Registry>(std::move(own), *logger, *workers);
}

// Adds all devices of the plugin, or none.
Status Runtime::State::add_devices(const Plugin& plugin) {
  std::vector<std::unique_ptr<Device>> made;
  for (uint32_t i = 0; i < plugin.devices().size(); ++i) {
    BP_TRY_ASSIGN(auto device, Device::make(plugin.tables(), plugin.devices()[i], plugin.id(), i));
    made.push_back(std::move(device));
  }
  std::move(made.begin(), made.end(), std::back_inserter(devices));
  return {};
}

Runtime::Runtime() : state_(std::make_unique<State>()) {}
Runtime::~Runtime() = default;

Result<std::unique_ptr<Runtime>> Runtime::open(RuntimeOptions options) {
  std::unique_ptr<Runtime> runtime(new Runtime());
  State& state = *runtime->state_;
  state.logger = options.logger ? options.logger : std::make_shared<Logger>();
  if (!options.workers) state.own_pool = std::make_unique<ThreadPool>(options.worker_count);
  state.workers = options.workers ? options.workers : state.own_pool.get();
  state.open_registry(std::move(options));

  std::vector<const Plugin*> plugins;
  for (const auto& plugin : state.registry->plugins()) plugins.push_back(plugin.get());
  for (const Plugin* plugin : plugins)
    if (const Status status = state.add_devices(*plugin); !status.ok()) state.registry->reject(*plugin, status);

  std::vector<Device*>& list = runtime->device_list_;
  for (const auto& device : state.devices) list.push_back(device.get());
  std::stable_sort(list.begin(), list.end(),
                   [](const Device* a, const Device* b) { return type_order(a->type()) < type_order(b->type()); });
  make_names_unique(list);
  return runtime;
}

std::span<const LoadReport> Runtime::reports() const { return state_->registry->reports(); }

Result<Device*> Runtime::device(std::string_view selector) const {
  std::vector<std::string> names, choices;
  for (Device* device : device_list_) {
    if (device->name() == selector || device->selector() == selector) return device;
    names.push_back(device->name());
    choices.push_back(device->name());
    choices.push_back(device->selector());
  }
  return not_found(
      cat("no device '", selector, "'", did_you_mean(selector, choices), "; ",
          names.empty() ? "there are none: the load reports say why" : cat("there are ", join(names, ", "))),
      "device.not-found");
}

Result<std::vector<Device*>> Runtime::select(std::string_view selectors) const {
  if (trimmed(selectors).empty()) return device_list_;
  std::vector<Device*> selected;
  for (size_t at = 0; at <= selectors.size();) {
    const size_t comma = std::min(selectors.find(',', at), selectors.size());
    BP_TRY_ASSIGN(Device* const found, device(trimmed(selectors.substr(at, comma - at))));
    if (std::find(selected.begin(), selected.end(), found) == selected.end()) selected.push_back(found);
    at = comma + 1;
  }
  return selected;
}

Workers& Runtime::workers() const { return *state_->workers; }
Logger& Runtime::log() const { return *state_->logger; }
bp_run_id Runtime::begin_run() { return state_->next_run.fetch_add(1, std::memory_order_relaxed); }
void Runtime::cancel_run(bp_run_id run) { state_->registry->host().cancel(run); }
void Runtime::finish_run(bp_run_id run) { state_->registry->host().finish(run); }

}  // namespace backplane
