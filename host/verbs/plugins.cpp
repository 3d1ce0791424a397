// backplane plugins
#include "json_output.hpp"
#include "report_text.hpp"
#include "table.hpp"
#include "verbs.hpp"

namespace backplane::cli {
namespace {

void print_table(const std::vector<LoadReport>& reports) {
  // The stage is left to --json and doctor: the code says as much in fewer columns.
  Table table({"PLUGIN", "OUTCOME", "CODE", "PATH", "MESSAGE"});
  for (const LoadReport& report : reports)
    table.add({report.plugin_id.empty() ? "-" : report.plugin_id, std::string(outcome_name(report.outcome)),
               report.code, report.requested, explanation(report)});
  table.print();
}

}  // namespace

Result<ExitCode> list_plugins(const Arguments& arguments) {
  BP_TRY_ASSIGN(const auto runtime, open_runtime(arguments));
  const std::vector<LoadReport> reports = runtime->reports();
  if (arguments.common.json) {
    print_json(to_json(reports));
  } else if (!reports.empty()) {
    print_table(reports);
  }
  if (reports.empty()) return no_devices(*runtime, arguments.common);
  return all_well(reports) ? ExitCode::ok : ExitCode::problems;
}

}  // namespace backplane::cli
