// The `backplane` program.
#include <cstdio>
#include <exception>
#include <string>

#include "verbs.hpp"

namespace backplane::cli {
namespace {

Result<ExitCode> perform(const Arguments& arguments) {
  switch (arguments.verb) {
    case Verb::devices:
      return list_devices(arguments);
    case Verb::plugins:
      return list_plugins(arguments);
    case Verb::plan:
      return show_plan(arguments);
    case Verb::run:
      return run_model(arguments);
  }
  return internal_error("a verb without an action");
}

int program(int argc, const char* const* argv) {
  const std::variant<Arguments, int> parsed = parse_arguments(argc, argv);
  if (const int* done = std::get_if<int>(&parsed)) return *done;
  const Result<ExitCode> code = perform(std::get<Arguments>(parsed));
  if (code.ok()) return static_cast<int>(*code);
  std::fflush(stdout);
  std::string message = code.status().message();
  while (!message.empty() && message.back() == '\n') message.pop_back();
  std::fprintf(stderr, "backplane: %s\n", message.c_str());
  return static_cast<int>(exit_code(code.status()));
}

}  // namespace
}  // namespace backplane::cli

int main(int argc, char** argv) {
  try {
    return backplane::cli::program(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "backplane: %s\n", error.what());
    return static_cast<int>(backplane::cli::ExitCode::problems);
  }
}
