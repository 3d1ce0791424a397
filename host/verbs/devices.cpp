// backplane devices
#include "device_text.hpp"
#include "json_output.hpp"
#include "places.hpp"
#include "report_text.hpp"
#include "table.hpp"
#include "verbs.hpp"

namespace backplane::cli {
namespace {

ExitCode print_search_path(const Arguments& arguments) {
  const std::vector<Place> list = places(arguments.common, load_configuration(Environment::process()));
  if (arguments.common.json)
    print_json(to_json(list));
  else
    places_table(list).print();
  return ExitCode::ok;
}

// The candidates that would be loaded, and those that would not.
Result<ExitCode> print_decision(const Arguments& arguments) {
  BP_TRY_ASSIGN(const auto runtime, open_runtime(arguments));
  const std::vector<LoadReport> reports = runtime->reports();
  Table table({"PLUGIN", "DECISION", "CODE", "LIBRARY", "MESSAGE"});
  for (const LoadReport& report : reports) {
    const bool loads = report.outcome == LoadOutcome::eligible;
    table.add({report.plugin_id.empty() ? "-" : report.plugin_id, loads ? "load" : "leave", report.code,
               report.real_path.empty() ? report.requested : report.real_path, loads ? "-" : explanation(report)});
  }
  if (arguments.common.json)
    print_json(to_json(reports));
  else if (!reports.empty())
    table.print();
  if (reports.empty()) return no_devices(*runtime, arguments.common);
  return all_well(reports) ? ExitCode::ok : ExitCode::problems;
}

}  // namespace

Result<ExitCode> list_devices(const Arguments& arguments) {
  if (arguments.devices.search_path) return print_search_path(arguments);
  if (arguments.devices.no_load) return print_decision(arguments);
  if (arguments.devices.watch) return watch_devices(arguments);
  BP_TRY_ASSIGN(const auto runtime, open_runtime(arguments));
  const std::vector<Device*> devices = runtime->devices();
  if (arguments.common.json)
    print_json(to_json(devices));
  else if (!devices.empty())
    devices_table(devices).print();
  BP_TRY(requested_failure(*runtime));
  if (devices.empty()) return no_devices(*runtime, arguments.common);
  return ExitCode::ok;
}

}  // namespace backplane::cli
