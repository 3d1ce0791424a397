#include "host_services.hpp"

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <utility>

// What a plugin gets to name itself by.
struct bp_host {
  backplane::HostServices::State* services;
  std::string plugin_id;
};

namespace backplane {

struct HostServices::State {
  const Logger& log;
  Workers& workers;
  DeviceEventFn on_device_event;
  bp_host_i table{};

  std::mutex plugins_mutex;
  std::deque<bp_host> plugins;  // a deque: elements stay where they are

  std::mutex names_mutex;
  std::map<std::pair<uint32_t, std::string>, uint32_t> names;  // name space and name -> id

  std::atomic<size_t> cancelled_count{0};  // so that the usual answer, no, takes no lock
  mutable std::shared_mutex cancelled_mutex;
  std::set<bp_run_id> cancelled_runs;

  uint32_t intern(std::string_view name, uint32_t name_space);
  bool cancelled(bp_run_id run) const;
};

uint32_t HostServices::State::intern(std::string_view name, uint32_t name_space) {
  if (name.empty() || name_space < BP_NAMESPACE_OP || name_space > BP_NAMESPACE_TYPE) return BP_NONE;
  const std::lock_guard lock(names_mutex);
  const auto next = static_cast<uint32_t>(BP_NAMED_BASE + names.size());
  if (next == BP_NONE) return BP_NONE;
  return names.emplace(std::pair(name_space, std::string(name)), next).first->second;
}

bool HostServices::State::cancelled(bp_run_id run) const {
  if (cancelled_count.load(std::memory_order_acquire) == 0) return false;
  const std::shared_lock lock(cancelled_mutex);
  return cancelled_runs.contains(run);
}

namespace {

LogLevel log_level(int32_t level) {
  switch (level) {
    case BP_LOG_TRACE:
      return LogLevel::trace;
    case BP_LOG_DEBUG:
      return LogLevel::debug;
    case BP_LOG_WARN:
      return LogLevel::warn;
    case BP_LOG_ERROR:
      return LogLevel::error;
    default:
      return LogLevel::info;
  }
}

// The functions of bp_host_i. Nothing may be thrown into a plugin: what can throw is caught here.

void BP_CALL host_log(bp_host* host, int32_t level, const char* text, uint64_t text_bytes) {
  if (host == nullptr || text == nullptr) return;
  host->services->log.write(log_level(level), host->plugin_id, std::string_view(text, text_bytes));
}

uint32_t BP_CALL host_intern(bp_host* host, const char* name, uint32_t name_space) {
  if (host == nullptr || name == nullptr) return BP_NONE;
  try {
    return host->services->intern(name, name_space);
  } catch (...) {
    return BP_NONE;
  }
}

uint32_t BP_CALL host_worker_count(bp_host* host) { return host->services->workers.count(); }

// The code for a Status of Workers; a failed precondition there is a nested gang.
bp_code parallel_code(const Status& status) {
  return status.code() == Code::failed_precondition ? BP_E_STATE : code_to_abi(status.code());
}

bp_code BP_CALL host_parallel_for(bp_host* host, uint32_t task_count, uint32_t flags, bp_task_fn fn, void* arg) {
  if (host == nullptr || fn == nullptr) return BP_E_INVALID_ARG;
  try {
    return parallel_code(host->services->workers.parallel_for(task_count, flags, fn, arg));
  } catch (...) {
    return BP_E_INTERNAL;
  }
}

uint32_t BP_CALL host_cancelled(bp_host* host, bp_run_id run) {
  return host != nullptr && host->services->cancelled(run) ? 1 : 0;
}

Status reason_of(const bp_error* error) {
  if (error == nullptr || error->code >= 0) return {};
  const bool has_text = error->message != nullptr && error->message_cap > 0;
  return Status(code_from_abi(error->code), has_text ? error->message : "the plugin gave no reason");
}

void BP_CALL host_device_event(bp_host* host, bp_device* device, uint32_t what, const bp_error* status) {
  if (host == nullptr || !host->services->on_device_event) return;
  try {
    host->services->on_device_event(host->plugin_id, device, what, reason_of(status));
  } catch (...) {  // The listener is ours; the plugin has nothing to learn from its trouble.
  }
}

// There is no host extension yet.
const void* BP_CALL host_get_extension(bp_host*, const char*, uint32_t) { return nullptr; }

}  // namespace

HostServices::HostServices(const Logger& log, Workers& workers, DeviceEventFn on_device_event)
    : state_(new State{log, workers, std::move(on_device_event), {}, {}, {}, {}, {}, {}, {}, {}}) {
  bp_host_i& table = state_->table;
  table.head = {sizeof table, BP_KIND_TABLE_HOST};
  table.log = host_log;
  table.intern = host_intern;
  table.worker_count = host_worker_count;
  table.parallel_for = host_parallel_for;
  table.cancelled = host_cancelled;
  table.device_event = host_device_event;
  table.get_extension = host_get_extension;
}

HostServices::~HostServices() = default;

bp_host* HostServices::add_plugin(std::string plugin_id) {
  const std::lock_guard lock(state_->plugins_mutex);
  return &state_->plugins.emplace_back(bp_host{state_.get(), std::move(plugin_id)});
}

const bp_host_i* HostServices::table() const { return &state_->table; }

uint32_t HostServices::intern(std::string_view name, uint32_t name_space) { return state_->intern(name, name_space); }

void HostServices::cancel(bp_run_id run) {
  if (run == 0) return;
  const std::unique_lock lock(state_->cancelled_mutex);
  state_->cancelled_runs.insert(run);
  state_->cancelled_count.store(state_->cancelled_runs.size(), std::memory_order_release);
}

void HostServices::finish(bp_run_id run) {
  const std::unique_lock lock(state_->cancelled_mutex);
  state_->cancelled_runs.erase(run);
  state_->cancelled_count.store(state_->cancelled_runs.size(), std::memory_order_release);
}

bool HostServices::cancelled(bp_run_id run) const { return state_->cancelled(run); }

}  // namespace backplane
