// backplane plugins
#include <cstdio>

#include "backplane/base/json.hpp"
#include "backplane/base/text.hpp"
#include "table.hpp"
#include "verbs.hpp"

namespace backplane::cli {
namespace {

Json to_json(const LoadReport& report) {
  return Json::object({{"plugin", Json::text(report.plugin_id)},
                       {"outcome", Json::text(std::string(outcome_name(report.outcome)))},
                       {"stage", Json::text(std::string(stage_name(report.stage)))},
                       {"code", Json::text(report.code)},
                       {"source", Json::text(report.source)},
                       {"requested", Json::text(report.requested)},
                       {"library_path", Json::text(report.library_path)},
                       {"real_path", Json::text(report.real_path)},
                       {"devices", Json::integer(report.device_count)},
                       {"message", Json::text(report.message)},
                       {"hint", Json::text(report.hint)},
                       {"file", Json::text(report.file)},
                       {"line", Json::integer(report.line)},
                       {"column", Json::integer(report.column)},
                       {"system_error", Json::integer(report.system_error)},
                       {"elapsed_ns", Json::integer(static_cast<int64_t>(report.elapsed_ns))}});
}

// Files beside the candidate go by their bare names: the PATH column shows the folder.
std::string without_folder(std::string text, const std::string& requested) {
  const std::string folder = requested.substr(0, requested.rfind('/') + 1);
  if (folder.size() < 2) return text;
  for (size_t at; (at = text.find(folder)) != std::string::npos;) text.erase(at, folder.size());
  return text;
}

// The message, where in a manifest the trouble is unless it says so itself, and what to do.
std::string explanation(const LoadReport& report) {
  std::string text = report.message;
  if (report.line != 0 && text.find(report.file) == std::string::npos)
    text += cat(" (", report.file, ":", report.line, ":", report.column, ")");
  if (!report.hint.empty()) text += cat(text.empty() ? "" : "; ", report.hint);
  if (report.outcome == LoadOutcome::active && text.empty()) text = counted(report.device_count, "device", "devices");
  return without_folder(std::move(text), report.requested);
}

void print_table(std::span<const LoadReport> reports) {
  // The stage is left to --json: the code says as much in fewer columns.
  Table table({"PLUGIN", "OUTCOME", "CODE", "PATH", "MESSAGE"});
  for (const LoadReport& report : reports)
    table.add({report.plugin_id.empty() ? "-" : report.plugin_id, std::string(outcome_name(report.outcome)),
               report.code, report.requested, explanation(report)});
  table.print();
}

}  // namespace

Result<ExitCode> list_plugins(const Arguments& arguments) {
  BP_TRY_ASSIGN(const auto runtime, open_runtime(arguments));
  const std::span<const LoadReport> reports = runtime->reports();
  if (arguments.common.json) {
    Json list = Json::array();
    for (const LoadReport& report : reports) list.push(to_json(report));
    std::puts(list.dump().c_str());
  } else if (!reports.empty()) {
    print_table(reports);
  }
  if (reports.empty()) return no_devices(*runtime, arguments.common);
  for (const LoadReport& report : reports)
    if (report.outcome == LoadOutcome::failed) return ExitCode::problems;
  return ExitCode::ok;
}

}  // namespace backplane::cli
