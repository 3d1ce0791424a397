// Arguments: the command line as plain values. CLI11 ends in arguments.cpp.
// Thread safety: parse once, from the main thread.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace backplane::cli {

struct CommonArguments {
  std::vector<std::string> plugin_paths;
  std::string log_spec;  // "level[,topic=level]"
  bool json = false;
};

struct ModelArguments {
  std::string model;                   // path of an ONNX file
  std::vector<std::string> inputs;     // "name=value", see input_value.hpp
  std::vector<std::string> shapes;     // "name=1,3,48,320"
  std::string devices;                 // "cpu0,gpu0"; empty = all
  std::vector<std::string> pins;       // "node=device"
  std::vector<std::string> locations;  // "tensor=device"
  std::string weights_device;          // empty = each weight where its readers are
  std::string mode = "mincomm";        // greedy, mincomm or cost
  std::string costs_file;              // of mode cost; empty = costs.json in the user's cache
  uint32_t reorder_window = 64;        // places that a node may move; 0 = none
  bool no_reuse = false;               // memory of its own for every tensor
};

struct PlanArguments {
  bool html = false;  // a page with a picture of the memory
};

struct RunArguments {
  std::string output_folder;   // empty = outputs are not written
  std::string compare_folder;  // empty = nothing is compared
  double absolute_tolerance = 1e-4;
  double relative_tolerance = 1e-3;
  uint32_t repeat = 0;        // timed runs after one that warms up; 0 = a single run
  uint32_t pipeline = 1;      // runs in flight at once
  double timeout_s = 0;       // of one run; 0 = none
  bool check_races = false;   // look for unordered accesses; slow
  bool debug_memory = false;  // as SessionOptions::debug_memory; slow
  std::string trace_file;     // empty = no trace
};

struct DevicesArguments {
  bool no_load = false;      // show the decision up to loading
  bool watch = false;        // go on, and show what comes
  bool search_path = false;  // show the places instead
};

struct DoctorArguments {
  std::string target;  // a path or a plugin id; empty = everything
  bool bundle = false;
  bool retry = false;
};

struct ConfigArguments {
  bool origin = false;
};

struct ManifestArguments {
  std::vector<std::string> files;  // of check: manifests and libraries
  std::string library;             // of new
  std::string id;                  // of new; empty = from the library
  bool pin = false;                // of new
  std::string schema = "plugin";   // of schema: plugin or config
};

enum class Verb {
  devices,
  plugins,
  doctor,
  config_show,
  config_check,
  config_variables,
  manifest_new,
  manifest_check,
  manifest_schema,
  plan,
  run
};

struct Arguments {
  Verb verb = Verb::devices;
  CommonArguments common;
  DevicesArguments devices;
  DoctorArguments doctor;
  ConfigArguments config;
  ManifestArguments manifest;
  ModelArguments model;
  PlanArguments plan;
  RunArguments run;
};

// The arguments; or the exit code, when the program is done: help or the version was printed, or what is wrong with
// the command line.
std::variant<Arguments, int> parse_arguments(int argc, const char* const* argv);

}  // namespace backplane::cli
