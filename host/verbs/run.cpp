// backplane run
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>

#include "backplane/base/text.hpp"
#include "backplane/formats/npy.hpp"
#include "backplane/graph/element.hpp"
#include "backplane/scheduler/session.hpp"
#include "compare.hpp"
#include "json_output.hpp"
#include "model_inputs.hpp"
#include "table.hpp"
#include "targets.hpp"
#include "tensor_files.hpp"
#include "text_value.hpp"
#include "timed_runs.hpp"
#include "verbs.hpp"

namespace backplane::cli {
namespace {

using Outputs = std::vector<std::pair<std::string, HostTensor>>;

struct RunResult {
  Outputs outputs;
  Timing timing;
  RunStatistics statistics;  // of the last run
  std::vector<std::string> incidents;
  std::vector<Comparison> comparisons;

  bool fits() const {
    return std::all_of(comparisons.begin(), comparisons.end(), [](const Comparison& c) { return c.fits(); });
  }
};

Result<Outputs> read_outputs(const Session& session) {
  Outputs outputs;
  for (const Graph::Port& port : session.graph().outputs()) {
    BP_TRY_ASSIGN(HostTensor value, session.output(port.name));
    outputs.emplace_back(port.name, std::move(value));
  }
  return outputs;
}

Status set_inputs(Session& session, const std::map<std::string, HostTensor>& values) {
  // Inputs whose values the import took in are not the graph's any more.
  for (const Graph::Port& port : session.graph().inputs())
    if (const auto value = values.find(port.name); value != values.end())
      BP_TRY(session.set_input(port.name, value->second));
  return ok_status();
}

using Texts = std::vector<std::pair<std::string, OnnxText>>;  // outputs that the import knows

Status write_outputs(const Outputs& outputs, const Texts& texts, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return invalid_argument(cat("cannot make the folder '", folder, "': ", error.message()));
  std::set<std::string> files;
  for (const auto& [name, value] : outputs) {
    const std::string file = tensor_file_name("out-", name);
    if (!files.insert(file).second)
      return invalid_argument(cat("two outputs of the model would both be written to ", file));
    BP_TRY(write_npy((std::filesystem::path(folder) / file).string(), value));
  }
  for (const auto& [name, text] : texts) {
    const std::string file = tensor_file_name("out-", name, kTextSuffix);
    if (!files.insert(file).second)
      return invalid_argument(cat("two outputs of the model would both be written to ", file));
    BP_TRY(write_text((std::filesystem::path(folder) / file).string(), text));
  }
  return ok_status();
}

// ---- what is printed

struct Range {
  double min = 0, max = 0;
  int64_t not_finite = 0;
};

Range range_of(const HostTensor& tensor) {
  Range range{INFINITY, -INFINITY, 0};
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const auto value = static_cast<double>(element(tensor, i));
    if (!std::isfinite(value)) ++range.not_finite;
    if (!std::isfinite(value)) continue;
    range.min = std::min(range.min, value);
    range.max = std::max(range.max, value);
  }
  if (range.min > range.max) range.min = range.max = 0;
  return range;
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

void print_outputs(const Outputs& outputs, const Texts& texts) {
  Table table({"OUTPUT", "VALUE", "MIN", "MAX", "NOT FINITE"});
  table.align_right({2, 3, 4});
  for (const auto& [name, value] : outputs) {
    const Range range = range_of(value);
    table.add({name, value.to_string(), short_number(range.min), short_number(range.max), cat(range.not_finite)});
  }
  constexpr size_t kMostShown = 100;
  for (const auto& [name, text] : texts) table.add({name, shortened(text.to_string(), kMostShown), "-", "-", "-"});
  table.print();
}

void print_result(const OnnxModel& model, const Plan& plan, const RunResult& result) {
  std::printf("devices: %s\n", join(plan.device_names, ", ").c_str());
  for (const std::string& value : model.specialised) std::printf("fixed by its value: %s\n", printable(value).c_str());
  for (const std::string& note : model.notes) std::printf("note: %s\n", printable(note).c_str());
  const RunStatistics& statistics = result.statistics;
  std::puts(cat(counted(plan.graph->node_count(), "node", "nodes"), ", ",
                counted(statistics.split_count, "split", "splits"), ", ",
                counted(statistics.copy_count, "copy", "copies"), " of ", bytes_text(statistics.copied_bytes))
                .c_str());
  for (const std::string& incident : result.incidents) std::printf("incident: %s\n", printable(incident).c_str());
  if (statistics.degraded) std::puts("degraded: not all of the devices are in use");
  const Timing& timing = result.timing;
  if (timing.runs == 1)
    std::printf("time: %.3f ms\n", timing.median_ms);
  else
    std::printf("time: min %.3f ms, median %.3f ms, max %.3f ms over %u runs\n", timing.min_ms, timing.median_ms,
                timing.max_ms, timing.runs);
  if (timing.runs > 1 && timing.in_flight > 1)
    std::printf("pipeline: %u in flight, %.1f runs/s\n", timing.in_flight, timing.per_second);
  print_outputs(result.outputs, model.texts);
  for (const Comparison& comparison : result.comparisons) std::puts(printable(comparison.to_string()).c_str());
}

Json shape_json(const std::vector<int64_t>& shape) {
  Json list = Json::array();
  for (const int64_t extent : shape) list.push(Json::integer(extent));
  return list;
}

Json texts_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push(Json::text(text));
  return list;
}

Json outputs_json(const Outputs& outputs, const Texts& texts) {
  Json list = Json::array();
  for (const auto& [name, value] : outputs) {
    const Range range = range_of(value);
    list.push(Json::object({{"name", Json::text(name)},
                            {"type", Json::text(std::string(type_name(value.dtype())))},
                            {"shape", shape_json(value.shape())},
                            {"min", Json::number(range.min)},
                            {"max", Json::number(range.max)},
                            {"not_finite", Json::integer(range.not_finite)}}));
  }
  for (const auto& [name, text] : texts) {
    list.push(Json::object({{"name", Json::text(name)},
                            {"type", Json::text("string")},
                            {"shape", shape_json(text.shape)},
                            {"values", texts_json(text.elements)}}));
  }
  return list;
}

Json result_json(const OnnxModel& model, const Plan& plan, const RunResult& result) {
  Json comparisons = Json::array();
  for (const Comparison& comparison : result.comparisons) comparisons.push(comparison.to_json());
  return Json::object({{"devices", texts_json(plan.device_names)},
                       {"specialised", texts_json(model.specialised)},
                       {"notes", texts_json(model.notes)},
                       {"nodes", Json::integer(plan.graph->node_count())},
                       {"splits", Json::integer(result.statistics.split_count)},
                       {"copies", Json::integer(result.statistics.copy_count)},
                       {"copied_bytes", Json::integer(static_cast<int64_t>(result.statistics.copied_bytes))},
                       {"runs", Json::integer(result.timing.runs)},
                       {"min_ms", Json::number(result.timing.min_ms)},
                       {"median_ms", Json::number(result.timing.median_ms)},
                       {"max_ms", Json::number(result.timing.max_ms)},
                       {"runs_per_second", Json::number(result.timing.per_second)},
                       {"in_flight", Json::integer(result.timing.in_flight)},
                       {"degraded", Json::boolean(result.statistics.degraded)},
                       {"incidents", texts_json(result.incidents)},
                       {"outputs", outputs_json(result.outputs, model.texts)},
                       {"comparisons", std::move(comparisons)}});
}

}  // namespace

Result<ExitCode> run_model(const Arguments& arguments) {
  const RunArguments& run = arguments.run;
  if (!run.compare_folder.empty()) BP_TRY(check_folder("--compare", run.compare_folder));
  if (const auto folder = std::filesystem::path(run.trace_file).parent_path(); !folder.empty())
    BP_TRY(check_folder("--trace", folder.string()));
  BP_TRY_ASSIGN(const auto runtime, open_runtime(arguments));
  BP_TRY_ASSIGN(const Targets targets, select_targets(*runtime, arguments));
  BP_TRY_ASSIGN(const LoadedModel loaded, load_model(arguments.model, InputsNeeded::values, run.compare_folder));
  SessionOptions options(targets.options);
  options.pipeline_depth = run.pipeline;
  options.check_races = run.check_races;
  options.debug_memory = run.debug_memory;
  Trace trace;  // outlives the runs that fill it
  BP_TRY_ASSIGN(const auto session, Session::prepare(*runtime, loaded.model.graph, targets.devices, options));
  BP_TRY(set_inputs(*session, loaded.values));

  RunResult result;
  TimedRuns runs(*session, run, trace);
  BP_TRY(runs.first());
  BP_TRY_ASSIGN(result.outputs, read_outputs(*session));
  BP_TRY_ASSIGN(result.timing, runs.rest());
  result.statistics = session->statistics();
  result.incidents = session->incidents();
  if (!run.trace_file.empty()) BP_TRY(trace.write(session->plan(), run.trace_file));
  if (!run.output_folder.empty()) BP_TRY(write_outputs(result.outputs, loaded.model.texts, run.output_folder));
  if (!run.compare_folder.empty()) {
    BP_TRY_ASSIGN(result.comparisons, compare_with_folder(result.outputs, loaded.model.texts, run.compare_folder,
                                                          {run.absolute_tolerance, run.relative_tolerance}));
  }
  if (arguments.common.json)
    print_json(result_json(loaded.model, session->plan(), result));
  else
    print_result(loaded.model, session->plan(), result);
  return result.fits() ? ExitCode::ok : ExitCode::problems;
}

}  // namespace backplane::cli
