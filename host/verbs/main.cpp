// The `backplane` program.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include "backplane/base/text.hpp"
#include "verbs.hpp"

namespace backplane::cli {
namespace {

Result<ExitCode> perform(const Arguments& arguments) {
  switch (arguments.verb) {
    case Verb::devices:
      return list_devices(arguments);
    case Verb::plugins:
      return list_plugins(arguments);
    case Verb::doctor:
      return examine(arguments);
    case Verb::config_show:
      return show_config(arguments);
    case Verb::config_check:
      return check_config(arguments);
    case Verb::config_variables:
      return list_variables(arguments);
    case Verb::manifest_new:
      return make_manifest(arguments);
    case Verb::manifest_check:
      return check_manifests(arguments);
    case Verb::manifest_schema:
      return print_schema(arguments);
    case Verb::plan:
      return show_plan(arguments);
    case Verb::run:
      return run_model(arguments);
  }
  return internal_error("a verb without an action");
}

// A message may have several lines, but what it quotes must not play with the terminal.
void print_error(std::string_view message) {
  while (!message.empty() && message.back() == '\n') message.remove_suffix(1);
  std::string text;
  for (size_t at = 0; at <= message.size();) {
    const size_t end = std::min(message.find('\n', at), message.size());
    text += cat(printable(message.substr(at, end - at)), '\n');
    at = end + 1;
  }
  std::fprintf(stderr, "backplane: %s", text.c_str());
}

// Output that did not arrive is a failure, whatever was computed.
int flushed(int code) {
  const bool arrived = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (arrived) return code;
  print_error(cat("cannot write to the standard output: ", std::strerror(errno)));
  return code == static_cast<int>(ExitCode::ok) ? static_cast<int>(ExitCode::problems) : code;
}

int program(int argc, const char* const* argv) {
  const std::variant<Arguments, int> parsed = parse_arguments(argc, argv);
  if (const int* done = std::get_if<int>(&parsed)) return *done;
  const Result<ExitCode> code = perform(std::get<Arguments>(parsed));
  if (code.ok()) return static_cast<int>(*code);
  std::fflush(stdout);
  print_error(code.status().message());
  return static_cast<int>(exit_code(code.status()));
}

}  // namespace
}  // namespace backplane::cli

int main(int argc, char** argv) {
  try {
    return backplane::cli::flushed(backplane::cli::program(argc, argv));
  } catch (const std::exception& error) {
    backplane::cli::print_error(error.what());
    return static_cast<int>(backplane::cli::ExitCode::problems);
  }
}
