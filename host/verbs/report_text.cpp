#include "report_text.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backplane/base/text.hpp"

namespace backplane::cli {
namespace {

constexpr size_t kShownOutput = 2000;  // bytes of what a plugin printed; all of it is in the JSON

Json texts(const std::vector<std::string>& list) {
  Json array = Json::array();
  for (const std::string& text : list) array.push(Json::text(text));
  return array;
}

// Files beside the candidate go by their bare names: the path of the candidate shows the folder.
std::string without_folder(std::string text, const std::string& requested) {
  const std::string folder = requested.substr(0, requested.rfind('/') + 1);
  if (folder.size() < 2) return text;
  for (size_t at; (at = text.find(folder)) != std::string::npos;) text.erase(at, folder.size());
  return text;
}

std::string place(const std::string& file, uint32_t line, uint32_t column) {
  return line == 0 ? file : cat(file, ":", line, ":", column);
}

void add_fact(std::string& text, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  text += cat("  ", name, std::string(name.size() < 10 ? 10 - name.size() : 1, ' '), printable(value), "\n");
}

std::string elapsed_text(uint64_t ns) {
  const uint64_t us = ns / 1000;
  return us < 10000 ? cat(us, " us") : cat(us / 1000, " ms");
}

}  // namespace

Json to_json(const LoadReport& report) {
  return Json::object({{"plugin", Json::text(report.plugin_id)},
                       {"version", Json::text(report.version)},
                       {"outcome", Json::text(std::string(outcome_name(report.outcome)))},
                       {"stage", Json::text(std::string(stage_name(report.stage)))},
                       {"code", Json::text(report.code)},
                       {"source", Json::text(report.source)},
                       {"requested", Json::text(report.requested)},
                       {"library_path", Json::text(report.library_path)},
                       {"real_path", Json::text(report.real_path)},
                       {"loaded_path", Json::text(report.loaded_path)},
                       {"devices", Json::integer(report.device_count)},
                       {"message", Json::text(report.message)},
                       {"hint", Json::text(report.hint)},
                       {"notes", texts(report.notes)},
                       {"file", Json::text(report.file)},
                       {"line", Json::integer(report.line)},
                       {"column", Json::integer(report.column)},
                       {"system_error", Json::integer(report.system_error)},
                       {"signal", Json::integer(report.signal)},
                       {"output", Json::text(report.output)},
                       {"elapsed_ns", Json::integer(static_cast<int64_t>(report.elapsed_ns))}});
}

Json to_json(const Notice& notice) {
  return Json::object({{"severity", Json::text(std::string(severity_name(notice.severity)))},
                       {"code", Json::text(notice.code)},
                       {"message", Json::text(notice.message)},
                       {"hint", Json::text(notice.hint)},
                       {"file", Json::text(notice.file)},
                       {"line", Json::integer(notice.line)},
                       {"column", Json::integer(notice.column)}});
}

Json to_json(const std::vector<LoadReport>& reports) {
  Json list = Json::array();
  for (const LoadReport& report : reports) list.push(to_json(report));
  return list;
}

Json to_json(const std::vector<Notice>& notices) {
  Json list = Json::array();
  for (const Notice& notice : notices) list.push(to_json(notice));
  return list;
}

bool all_well(const std::vector<LoadReport>& reports) {
  const auto has = [&](LoadOutcome outcome) {
    return std::any_of(reports.begin(), reports.end(),
                       [outcome](const LoadReport& report) { return report.outcome == outcome; });
  };
  return !has(LoadOutcome::failed) && (has(LoadOutcome::active) || has(LoadOutcome::eligible));
}

std::string explanation(const LoadReport& report) {
  if (report.outcome == LoadOutcome::active)
    return cat(report.version.empty() ? "" : cat("version ", report.version, ", "),
               counted(report.device_count, "device", "devices"));
  std::string text = report.message;
  if (report.line != 0 && text.find(report.file) == std::string::npos)
    text += cat(" (", place(report.file, report.line, report.column), ")");
  if (!report.hint.empty()) text += cat(text.empty() ? "" : "; ", report.hint);
  return without_folder(std::move(text), report.requested);
}

std::string sentence(const Notice& notice) {
  std::string text = notice.message;
  if (!notice.file.empty() && notice.message.find(notice.file) == std::string::npos)
    text += cat(" (", place(notice.file, notice.line, notice.column), ")");
  if (!notice.hint.empty()) text += cat("; ", notice.hint);
  return printable(cat(text, " [", notice.code, "]"));
}

std::string to_text(const Notice& notice) { return cat(severity_name(notice.severity), ": ", sentence(notice)); }

std::string origin_text(const ConfigurationEntry& entry) { return place(entry.file, entry.line, entry.column); }

std::string story(const LoadReport& report) {
  std::string text = cat(printable(report.requested), "\n");
  add_fact(text, "plugin", report.version.empty() ? report.plugin_id : cat(report.plugin_id, " ", report.version));
  const bool active = report.outcome == LoadOutcome::active;
  add_fact(text, "outcome",
           cat(outcome_name(report.outcome), active ? "" : cat(" at ", stage_name(report.stage)), " [", report.code,
               "] after ", elapsed_text(report.elapsed_ns)));
  add_fact(text, active ? "devices" : "because", active ? std::to_string(report.device_count) : report.message);
  const std::string where = report.line == 0 ? "" : place(report.file, report.line, report.column);
  if (report.message.find(where) == std::string::npos) add_fact(text, "where", where);
  if (report.system_error != 0)
    add_fact(text, "system", cat("errno ", report.system_error, ", ", std::strerror(report.system_error)));
  if (report.signal != 0) add_fact(text, "signal", cat(report.signal, ", ", strsignal(report.signal)));
  add_fact(text, "do", report.hint);
  for (const std::string& note : report.notes) add_fact(text, "note", note);
  add_fact(text, "found by", report.source);
  add_fact(text, "library", report.library_path);
  if (report.real_path != report.library_path) add_fact(text, "real path", report.real_path);
  if (report.loaded_path != report.real_path) add_fact(text, "loaded", report.loaded_path);
  add_fact(text, "printed", shortened(report.output, kShownOutput));
  return text;
}

}  // namespace backplane::cli
