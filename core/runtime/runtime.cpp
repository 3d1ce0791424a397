#include "backplane/runtime/runtime.hpp"

#include <algorithm>
#include <atomic>
#include <shared_mutex>

#include "backplane/base/text.hpp"
#include "backplane/base/thread_pool.hpp"
#include "device_list.hpp"
#include "registry/plugin/plugin_call.hpp"
#include "registry/registry.hpp"

namespace backplane {
namespace {

constexpr const char* kOnlyVariable = "BACKPLANE_DEVICES";

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

DeviceRules device_rules(const Configuration& configuration, const std::optional<std::string>& only) {
  DeviceRules rules;
  rules.hide = configuration.device_hide;
  rules.order = configuration.device_order;
  if (only && !only->empty()) rules.only = split_selectors(*only);
  rules.only_source = kOnlyVariable;
  rules.priority = [&configuration](std::string_view id) { return configuration.plugin(id).priority; };
  return rules;
}

}  // namespace

// In the order of their making: devices go first, the logger last.
struct Runtime::State {
  std::shared_ptr<Logger> logger;
  std::unique_ptr<ThreadPool> own_pool;
  Workers* workers = nullptr;
  std::unique_ptr<Registry> registry;
  std::optional<std::string> only;  // BACKPLANE_DEVICES
  std::atomic<bp_run_id> next_run{1};

  mutable std::shared_mutex mutex;  // guards what follows; not held while a plugin is called
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Device*> list;
  std::vector<Notice> notices;

  void open_registry(RuntimeOptions options);
  Status scan();
  void publish(std::vector<std::unique_ptr<Device>> fresh);
};

void Runtime::State::open_registry(RuntimeOptions options) {
  RegistryOptions own;
  own.plugin_paths = std::move(options.plugin_paths);
  own.search_system = options.search_system;
  own.load = options.load;
  own.probe = options.probe;
  own.probe_again = options.probe_again;
  own.plugin_options = std::move(options.plugin_options);
  own.environment = options.environment ? std::move(*options.environment) : Environment::process();
  own.host_name = std::move(options.host_name);
  own.on_device_event = [log = logger](const std::string& plugin_id, bp_device*, uint32_t what, const Status& reason) {
    log->write(LogLevel::warn, plugin_id,
               cat("a device is ", event_name(what), reason.ok() ? "" : ": ", reason.message()));
  };
  if (own.search_system) only = own.environment.get(kOnlyVariable);
  registry = std::make_unique<Registry>(std::move(own), *logger, *workers);
}

Status Runtime::State::scan() {
  std::vector<std::unique_ptr<Device>> fresh;
  const auto accept = [&fresh](const Plugin& plugin) -> Status {
    std::vector<std::unique_ptr<Device>> made;  // all of the plugin's, or none
    for (uint32_t i = 0; i < plugin.devices().size(); ++i) {
      BP_TRY_ASSIGN(auto device, Device::make(plugin.tables(), plugin.devices()[i], plugin.id(), i));
      made.push_back(std::move(device));
    }
    std::move(made.begin(), made.end(), std::back_inserter(fresh));
    return {};
  };
  return registry->scan(accept, [&] { publish(std::move(fresh)); });
}

// Names the new devices and lists all anew.
void Runtime::State::publish(std::vector<std::unique_ptr<Device>> fresh) {
  const std::shared_ptr<const Configuration> configuration = registry->configuration();
  const DeviceRules rules = device_rules(*configuration, only);
  std::vector<Device*> known, added;
  for (const auto& device : devices) known.push_back(device.get());  // only a scan changes them
  for (const auto& device : fresh) added.push_back(device.get());
  sort_devices(added, rules);
  name_devices(known, added);
  for (const auto& device : fresh) known.push_back(device.get());
  DeviceList listed = list_devices(known, rules);

  const std::unique_lock lock(mutex);
  std::move(fresh.begin(), fresh.end(), std::back_inserter(devices));
  list = std::move(listed.devices);
  notices = std::move(listed.notices);
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
  BP_TRY(state.scan());
  return runtime;
}

Status Runtime::rescan() { return state_->scan(); }

std::vector<Device*> Runtime::devices() const {
  const std::shared_lock lock(state_->mutex);
  return state_->list;
}

std::vector<Device*> Runtime::devices_of_type(uint32_t type) const {
  std::vector<Device*> list = devices();
  std::erase_if(list, [type](const Device* device) { return device->type() != type; });
  return list;
}

Result<Device*> Runtime::best_device() const {
  const std::vector<Device*> list = devices();
  if (list.empty()) return not_found("there is no device: the load reports say why", "device.not-found");
  return list.front();
}

Result<Device*> Runtime::device(std::string_view selector) const {
  std::vector<std::string> names, choices;
  for (Device* device : devices()) {
    if (is_selected_by(*device, selector)) return device;
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
  const std::vector<std::string> parts = split_selectors(selectors);
  if (parts.size() == 1 && parts[0].empty()) return devices();
  std::vector<Device*> selected;
  for (const std::string& part : parts) {
    BP_TRY(device(part).status());
    for (Device* found : devices())
      if (is_selected_by(*found, part) && std::find(selected.begin(), selected.end(), found) == selected.end())
        selected.push_back(found);
  }
  return selected;
}

std::vector<PluginInfo> Runtime::plugins() const {
  std::vector<PluginInfo> plugins;
  for (const Plugin* plugin : state_->registry->plugins())
    plugins.push_back({plugin->id(), plugin->version(), plugin->loaded_path(), plugin->abi()});
  return plugins;
}

const void* Runtime::get_extension(std::string_view plugin_id, const char* name, uint32_t min_version) const {
  for (const Plugin* plugin : state_->registry->plugins()) {
    if (plugin->id() != plugin_id) continue;
    const void* table = nullptr;
    const Status status = guard_plugin("get_extension", [&] {
      table = plugin->tables().plugin_i->get_extension(plugin->tables().plugin, name, min_version);
      return Status();
    });
    return status.ok() ? table : nullptr;
  }
  return nullptr;
}

std::vector<LoadReport> Runtime::reports() const { return state_->registry->reports(); }

std::vector<Notice> Runtime::notices() const {
  std::vector<Notice> notices = state_->registry->notices();
  const std::shared_lock lock(state_->mutex);
  notices.insert(notices.end(), state_->notices.begin(), state_->notices.end());
  return notices;
}

std::shared_ptr<const Configuration> Runtime::configuration() const { return state_->registry->configuration(); }
Workers& Runtime::workers() const { return *state_->workers; }
Logger& Runtime::log() const { return *state_->logger; }
bp_run_id Runtime::begin_run() { return state_->next_run.fetch_add(1, std::memory_order_relaxed); }
void Runtime::cancel_run(bp_run_id run) { state_->registry->host().cancel(run); }
void Runtime::finish_run(bp_run_id run) { state_->registry->host().finish(run); }

}  // namespace backplane
