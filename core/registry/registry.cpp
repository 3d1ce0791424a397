#include "registry.hpp"

#include <algorithm>
#include <utility>

#include "backplane/base/text.hpp"
#include "registry/scan/scan.hpp"

namespace backplane {
namespace {

constexpr std::string_view kTopic = "registry";

void log_report(const Logger& log, const LoadReport& report) {
  const LogLevel level = report.outcome == LoadOutcome::failed   ? LogLevel::warn
                         : report.outcome == LoadOutcome::active ? LogLevel::info
                                                                 : LogLevel::debug;
  if (!log.enabled(level, kTopic)) return;
  log.write(level, kTopic,
            cat(report.requested, ": ", outcome_name(report.outcome), " at ", stage_name(report.stage), " [",
                report.code, "] ", report.message));
}

void log_notice(const Logger& log, const Notice& notice) {
  const LogLevel level = notice.severity == Severity::info ? LogLevel::info : LogLevel::warn;
  if (log.enabled(level, kTopic)) log.write(level, kTopic, cat("[", notice.code, "] ", notice.message));
}

Result<std::shared_ptr<const Configuration>> read_configuration(const RegistryOptions& options) {
  auto configuration = std::make_shared<Configuration>();
  if (options.search_system) *configuration = load_configuration(options.environment);
  for (const ConfigurationFile& file : configuration->files)
    if (file.state == ConfigurationFile::State::broken && configuration->trust == TrustPolicy::strict)
      return failed_precondition(
          cat("the configuration demands strict trust, and '", file.path,
              "' is broken, so that nobody knows what it forbids; `backplane config check` says what is wrong"),
          "config.broken");
  return std::shared_ptr<const Configuration>(std::move(configuration));
}

// Tells what the library says of itself, where the manifest may have said otherwise.
void describe(const Plugin& plugin, const Manifest& manifest, LoadReport& report) {
  if (!manifest.version.empty() && manifest.version != plugin.version())
    report.notes.push_back(
        cat("the manifest says version ", manifest.version, ", the library ", plugin.version(), ", which counts"));
  report.version = plugin.version();
  report.loaded_path = plugin.loaded_path();
  report.device_count = static_cast<uint32_t>(plugin.devices().size());
  report.outcome = LoadOutcome::active;
  report.code = "ok";
  report.message = cat("version ", plugin.version());
}

}  // namespace

// The right to scan.
class Registry::Turn {
 public:
  explicit Turn(Registry& registry) : registry_(registry) {
    std::unique_lock lock(registry.mutex_);
    if (registry.scanning_ == std::this_thread::get_id()) return;
    registry.turn_over_.wait(lock, [&] { return !registry.scanning_; });
    registry.scanning_ = std::this_thread::get_id();
    taken_ = true;
  }
  ~Turn() {
    if (!taken_) return;
    {
      const std::lock_guard lock(registry_.mutex_);
      registry_.scanning_.reset();
    }
    registry_.turn_over_.notify_one();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  bool taken() const { return taken_; }

 private:
  Registry& registry_;
  bool taken_ = false;
};

Registry::Registry(RegistryOptions options, const Logger& log, Workers& workers)
    : options_(std::move(options)),
      cpu_(options_.cpu_features ? *options_.cpu_features : CpuFeatures::detect()),
      log_(log),
      host_(log, workers, options_.on_device_event),
      configuration_(std::make_shared<Configuration>()) {}

// The last opened is closed first.
Registry::~Registry() {
  while (!active_.empty()) active_.pop_back();
}

Status Registry::scan(const Accept& accept, const Done& done) {
  const Turn turn(*this);
  if (!turn.taken())
    return failed_precondition("a scan for plugins from within a plugin, or from a log sink during a scan",
                               "registry.nested");
  BP_TRY_ASSIGN(const std::shared_ptr<const Configuration> configuration, read_configuration(options_));
  std::vector<Taken> taken;  // only this thread changes active_
  for (const Active& active : active_) taken.push_back({active.plugin->id(), active.library, active.report, true});
  Scan scan(options_, *configuration, cpu_, std::move(taken),
            [&](Candidate& candidate) { return open(candidate, accept); });
  scan.run();

  std::vector<LoadReport> reports = scan.take_reports();
  std::vector<Notice> notices = scan.take_notices();
  for (const LoadReport& report : reports) log_report(log_, report);
  for (const Notice& notice : notices) log_notice(log_, notice);
  {
    const std::lock_guard lock(mutex_);
    reports_ = std::move(reports);
    notices_ = std::move(notices);
    configuration_ = configuration;
  }
  if (done) done();
  return {};
}

Status Registry::open(Candidate& candidate, const Accept& accept) {
  const PluginSource source = {*candidate.manifest, candidate.report.real_path, *candidate.library,
                               candidate.options,   options_.host_name,         host_};
  BP_TRY_ASSIGN(std::unique_ptr<Plugin> plugin, Plugin::load(source, &candidate.report.stage));
  if (const Status status = accept(*plugin); !status.ok()) {
    candidate.report.stage = LoadStage::enumerate;
    return status;
  }
  describe(*plugin, *candidate.manifest, candidate.report);
  const std::lock_guard lock(mutex_);
  active_.push_back({std::move(plugin), candidate.report, *candidate.library});
  return {};
}

std::vector<LoadReport> Registry::reports() const {
  const std::lock_guard lock(mutex_);
  return reports_;
}

std::vector<Notice> Registry::notices() const {
  const std::lock_guard lock(mutex_);
  return notices_;
}

std::shared_ptr<const Configuration> Registry::configuration() const {
  const std::lock_guard lock(mutex_);
  return configuration_;
}

std::vector<const Plugin*> Registry::plugins() const {
  const std::lock_guard lock(mutex_);
  std::vector<const Plugin*> plugins;
  for (const Active& active : active_) plugins.push_back(active.plugin.get());
  return plugins;
}

}  // namespace backplane
