#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "backplane/base/text.hpp"
#include "common.hpp"

namespace backplane::cli {
namespace {

constexpr const char* kInputHelp =
    "name=VALUE for an input of the model, where VALUE is @file.npy, @image.png or .jpg (scaled to the input; "
    "[,mean=M][,scale=S][,bgr] as (x/255-M)/S, three values a:b:c for one each channel), shape:1,3,48,320 (zeros), "
    "random:1,3,48,320, or numbers such as 16000 or [1,2]; strings are JSON, [\"a\",\"b\"] or @file.json; \"x[0]\", "
    "\"x[1]\" are elements of a sequence x";

// One occurrence takes one value, so that a positional argument may follow.
CLI::Option* add_list(CLI::App& app, const std::string& name, std::vector<std::string>& target,
                      const std::string& help) {
  return app.add_option(name, target, help)->allow_extra_args(false);
}

// What an unset shell variable leaves behind must not turn the option off.
std::string check_not_empty(const std::string& text) { return text.empty() ? "wants a value, found ''" : ""; }

std::string check_tolerance(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number = error == std::errc() && end == text.data() + text.size() && std::isfinite(value) && value >= 0;
  return number ? "" : cat("wants a number of at least 0, such as 1e-4, found '", text, "'");
}

std::string check_seconds(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number = error == std::errc() && end == text.data() + text.size() && value > 0 && value <= 1e9;
  return number ? "" : cat("wants seconds above 0, such as 2.5, found '", text, "'");
}

void add_json(CLI::App& verb, CommonArguments& common) {
  verb.add_flag("--json", common.json, "Print JSON instead of text");
}

void add_model(CLI::App& verb, ModelArguments& model) {
  verb.add_option("model", model.model, "An ONNX model")->required()->type_name("MODEL");
  add_list(verb, "--input", model.inputs, kInputHelp)->type_name("NAME=VALUE");
  add_list(verb, "--shape", model.shapes, "The shape of an input with open dimensions")->type_name("NAME=1,3,48,320");
  verb.add_option("--device", model.devices, "Devices to use, best first; all unless given")
      ->check(check_not_empty)
      ->type_name("A,B");
  add_list(verb, "--pin", model.pins, "Runs a node, by name or number, on a device")->type_name("NODE=DEVICE");
  add_list(verb, "--location", model.locations,
           "Puts a weight or state into the memory of a device, which pulls the nodes that use it there")
      ->type_name("TENSOR=DEVICE");
  verb.add_option("--weights", model.weights_device, "Puts all weights that --location does not name on one device")
      ->check(check_not_empty)
      ->type_name("DEVICE");
  verb.add_option("--mode", model.mode,
                  "How nodes are placed: greedy by rules alone, mincomm with fewer copies and splits where that is "
                  "possible, cost by measured costs of the devices")
      ->check(CLI::IsMember({"greedy", "mincomm", "cost"}))
      ->capture_default_str();
  verb.add_option("--costs", model.costs_file,
                  "Where --mode cost keeps what it has measured; costs.json in the user's cache unless given")
      ->check(check_not_empty)
      ->type_name("FILE");
  verb.add_option("--reorder-window", model.reorder_window,
                  "How many places a node may move to join others of its device; 0 keeps the model's order")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str()
      ->type_name("N");
  verb.add_flag("--no-reuse", model.no_reuse,
                "Gives every tensor memory of its own, to find out whether a fault is one of memory reuse");
}

void add_run(CLI::App& verb, RunArguments& run) {
  verb.add_option("--output", run.output_folder, "Writes each output to out-NAME.npy in this folder")
      ->check(check_not_empty)
      ->type_name("DIR");
  verb.add_option(
          "--compare", run.compare_folder,
          "Compares each output with out-NAME.npy in this folder; without --input, inputs come from in-NAME.npy")
      ->check(check_not_empty)
      ->type_name("DIR");
  verb.add_option("--atol", run.absolute_tolerance, "Absolute tolerance of --compare")
      ->check(check_tolerance)
      ->capture_default_str();
  verb.add_option("--rtol", run.relative_tolerance, "Relative tolerance of --compare")
      ->check(check_tolerance)
      ->capture_default_str();
  verb.add_option("--repeat", run.repeat, "Times this many runs, after one that warms up")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  verb.add_option("--pipeline", run.pipeline, "Keeps this many of the --repeat runs in flight at once")
      ->check(CLI::Range(1, 64))
      ->type_name("N");
  verb.add_option("--timeout", run.timeout_s, "Cancels a run that takes longer")
      ->check(check_seconds)
      ->type_name("SECONDS");
  verb.add_option("--trace", run.trace_file, "Writes what ran when, as trace-event JSON for Perfetto, to this file")
      ->check(check_not_empty)
      ->type_name("FILE");
  verb.add_flag("--check-races", run.check_races,
                "Fails a run in which nothing orders two accesses to the same memory; slow");
  verb.add_flag("--debug-memory", run.debug_memory,
                "Gives every tensor memory of its own and fails a run that writes beside it; slow");
}

// Verbs and what they stand for, to find out which one was given.
using Verbs = std::vector<std::pair<CLI::App*, Verb>>;

void add_loader_verbs(CLI::App& app, Arguments& arguments, Verbs& verbs) {
  CLI::App* devices = app.add_subcommand("devices", "Lists the devices, best first");
  DevicesArguments& listing = arguments.devices;
  CLI::Option* no_load =
      devices->add_flag("--no-load", listing.no_load, "Shows what would be loaded; no code of a plugin runs");
  CLI::Option* watch =
      devices->add_flag("--watch", listing.watch,
                        "Goes on, and shows devices as their plugins are dropped in; with --json one line each");
  devices->add_flag("--search-path", listing.search_path, "Shows where plugins are looked for, in order")
      ->excludes(no_load)
      ->excludes(watch);
  watch->excludes(no_load);
  CLI::App* plugins = app.add_subcommand("plugins", "Lists every plugin candidate and what became of it");
  CLI::App* doctor = app.add_subcommand("doctor", "Tells the whole story of every candidate, or why not this one");
  CLI::Option* target =
      doctor->add_option("target", arguments.doctor.target, "A manifest, a library, a folder of them or a plugin id")
          ->check(check_not_empty)
          ->type_name("PATH|ID");
  doctor->add_flag("--bundle", arguments.doctor.bundle, "Prints one JSON document for a bug report, without secrets")
      ->excludes(target);
  doctor->add_flag("--retry", arguments.doctor.retry, "Tries again what crashed or hung in an earlier trial");
  verbs.insert(verbs.end(), {{devices, Verb::devices}, {plugins, Verb::plugins}, {doctor, Verb::doctor}});
}

void add_config_verbs(CLI::App& app, Arguments& arguments, Verbs& verbs) {
  CLI::App* config = app.add_subcommand("config", "Shows and checks the configuration");
  config->require_subcommand(1);
  CLI::App* show = config->add_subcommand("show", "Prints every value in force");
  show->add_flag("--origin", arguments.config.origin, "Says where each value comes from");
  CLI::App* check = config->add_subcommand("check", "Says what is wrong with the configuration files");
  CLI::App* variables = config->add_subcommand("variables", "Lists the environment variables");
  verbs.insert(verbs.end(),
               {{show, Verb::config_show}, {check, Verb::config_check}, {variables, Verb::config_variables}});
}

void add_manifest_verbs(CLI::App& app, Arguments& arguments, Verbs& verbs) {
  ManifestArguments& own = arguments.manifest;
  CLI::App* manifest = app.add_subcommand("manifest", "Helps the authors of plugins");
  manifest->require_subcommand(1);
  CLI::App* make = manifest->add_subcommand("new", "Prints a manifest for a library");
  make->add_option("library", own.library, "A shared object")->required()->type_name("LIBRARY");
  make->add_option("--id", own.id,
                   "The plugin's id, such as org.example.gpu; by default that of an embedded manifest, else made of "
                   "the file's name")
      ->check(check_not_empty)
      ->type_name("ID");
  make->add_flag("--pin", own.pin, "Pins the library's content");
  CLI::App* check = manifest->add_subcommand("check", "Checks manifests and the libraries they name");
  check->add_option("file", own.files, "Manifests, or libraries with a manifest in them")
      ->required()
      ->type_name("FILE");
  CLI::App* schema = manifest->add_subcommand("schema", "Prints the JSON Schema of manifests or configuration files");
  schema->add_option("kind", own.schema, "plugin or config")->check(CLI::IsMember({"plugin", "config"}));
  verbs.insert(verbs.end(),
               {{make, Verb::manifest_new}, {check, Verb::manifest_check}, {schema, Verb::manifest_schema}});
}

void add_model_verbs(CLI::App& app, Arguments& arguments, Verbs& verbs) {
  CLI::App* plan =
      app.add_subcommand("plan", "Shows how a model would run: splits, copies, memory, each node's device");
  CLI::App* run = app.add_subcommand("run", "Runs a model");
  for (CLI::App* verb : {plan, run}) add_model(*verb, arguments.model);
  add_run(*run, arguments.run);
  plan->add_option_function<std::string>(
          "--format",
          [&arguments](const std::string& format) {
            arguments.common.json |= format == "json";
            arguments.plan.html = format == "html";
          },
          "table, json or html: a page that shows the memory over time")
      ->check(CLI::IsMember({"table", "json", "html"}));
  verbs.insert(verbs.end(), {{plan, Verb::plan}, {run, Verb::run}});
}

void add_common(CLI::App& app, CommonArguments& common) {
  add_list(app, "--plugin-path", common.plugin_paths, "A folder or file to look for plugins in, before all others")
      ->check(check_not_empty)
      ->type_name("DIR");
  common.log_spec = "error";  // what failed to load is told by `plugins`, not by every verb
  app.add_option("--log", common.log_spec, "Log lines on stderr: trace, debug, info, warn, error or off, by topic too")
      ->type_name("LEVEL[,TOPIC=LEVEL]")
      ->envname("BACKPLANE_LOG");
  app.set_version_flag("--version", std::string("backplane ") + BACKPLANE_VERSION);
}

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back(cat("--", name));
  return names;
}

// Says in one line what is wrong with the command line, and returns the exit code.
int explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* verb = &app;
  std::string path = "backplane";
  for (; !verb->get_subcommands().empty(); path += cat(" ", verb->get_name())) verb = verb->get_subcommands()[0];
  const std::vector<std::string> unknown = app.remaining(true), verbs = verbs_of(*verb);
  const std::string first = unknown.empty() ? "" : unknown[0];
  std::string message = error.what();
  if (!verbs.empty() && first.empty())
    message = cat("wanted a verb: ", join(verbs, ", "));
  else if (!verbs.empty() && !first.starts_with('-'))
    message = cat("no verb '", first, "'", did_you_mean(first, verbs), "; there are ", join(verbs, ", "));
  else if (first.starts_with('-'))
    message = cat("no option '", first, "'", did_you_mean(first, options_of(*verb)));
  else if (!first.empty())
    message = cat("'", first, "' is one argument too many");
  std::fprintf(stderr, "backplane: %s; see `%s --help`\n", printable(message).c_str(), path.c_str());
  return static_cast<int>(ExitCode::usage);
}

}  // namespace

std::variant<Arguments, int> parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  CLI::App app("Runs tensor graphs on whatever backends are plugged in.", "backplane");
  app.require_subcommand(1);
  app.fallthrough();
  app.footer("Exit codes: 0 done, 1 problems, 2 usage, 3 something asked for is missing.");
  add_common(app, arguments.common);

  Verbs verbs;
  add_loader_verbs(app, arguments, verbs);
  add_config_verbs(app, arguments, verbs);
  add_manifest_verbs(app, arguments, verbs);
  add_model_verbs(app, arguments, verbs);
  for (const auto& [verb, value] : verbs)
    if (value != Verb::manifest_new && value != Verb::manifest_schema) add_json(*verb, arguments.common);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? app.exit(error) : explain(app, error);
  }
  for (const auto& [verb, value] : verbs)
    if (*verb) arguments.verb = value;
  return arguments;
}

}  // namespace backplane::cli
