#include "load_failure.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

std::string file_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

// The text after `before` up to one of the characters `ends`, or "" if `before` is not there.
std::string_view text_after(std::string_view text, std::string_view before, std::string_view ends) {
  const size_t at = text.find(before);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + before.size());
  return text.substr(0, text.find_first_of(ends));
}

std::string readable_symbol(const std::string& symbol) {
  int status = 0;
  char* plain = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  const std::string text = plain ? cat("'", plain, "' (", symbol, ")") : cat("'", symbol, "'");
  std::free(plain);
  return text;
}

LoadFailure failure_with(const Status& failure, std::string_view explanation, std::string_view id, std::string hint) {
  return {Status(failure.code(), cat(failure.message(), "; ", explanation), id), std::move(hint)};
}

// glibc: "LIBRARY: undefined symbol: NAME[, version VERSION]"
LoadFailure explain_symbol(const Status& failure, const std::string& symbol) {
  return failure_with(failure, cat("no library it loads defines ", readable_symbol(symbol)), "dlopen.undefined-symbol",
                      "link the plugin with the library that defines it, or install the version of that library that "
                      "the plugin was built against; the functions of Backplane itself are not linked but asked for");
}

// glibc: "LIBRARY: version `VERSION' not found (required by WHO)"
LoadFailure explain_version(const Status& failure, std::string_view version, const std::string& library_path) {
  const std::string_view text = failure.message();
  const size_t end = text.find(": version `");
  const std::string_view provider = text.substr(0, end).substr(text.substr(0, end).rfind(' ') + 1);
  const std::string_view named = text_after(text, "(required by ", ")");
  const std::string wanting = file_name(named.empty() ? std::string_view(library_path) : named);
  return failure_with(
      failure,
      cat(wanting, " needs version ", version, " of ", file_name(provider), ", and ", provider, " does not have it"),
      "dlopen.symbol-version",
      cat("install a newer ", file_name(provider), ", or build ", wanting,
          " on a system as old as the oldest it is to run on"));
}

// The one that the system's text names, else the first.
const MissingLibrary& choose_missing(const std::vector<MissingLibrary>& missing, std::string_view text) {
  const auto is_named = [&](const MissingLibrary& library) { return text.find(library.soname) != text.npos; };
  const auto named = std::find_if(missing.begin(), missing.end(), is_named);
  return named == missing.end() ? missing.front() : *named;
}

std::string chain_text(const MissingLibrary& missing) {
  std::string text;
  for (const std::string& path : missing.chain) text += cat(file_name(path), " -> ");
  return cat(text, missing.soname, " (", missing.reason, ")");
}

std::string hint_for(const MissingLibrary& missing, const Manifest& manifest) {
  std::vector<std::string> parts;
  for (const ManifestDependency& dependency : manifest.dependencies)
    if (dependency.soname == missing.soname && !dependency.hint.empty()) parts.push_back(dependency.hint);
  if (!missing.hint.empty()) parts.push_back(missing.hint);
  if (parts.empty()) parts.push_back(cat("install the package that holds ", missing.soname));
  return join(parts, "; ");
}

LoadFailure explain_missing(const Status& failure, const std::vector<MissingLibrary>& missing,
                            const Manifest& manifest) {
  const MissingLibrary& chosen = choose_missing(missing, failure.message());
  std::vector<std::string> others;
  for (const MissingLibrary& library : missing)
    if (&library != &chosen) others.push_back(library.soname);
  std::string explanation = chain_text(chosen);
  if (!others.empty()) explanation += cat("; also missing: ", join(others, ", "));
  return failure_with(failure, explanation, "dlopen.missing-library", hint_for(chosen, manifest));
}

}  // namespace

LoadFailure explain_load_failure(const Status& failure, const std::string& library_path, const Manifest& manifest,
                                 DependencyWalk& walk) {
  if (failure.id() != "dlopen.failed") return {failure, ""};
  const std::string_view text = failure.message();
  if (const std::string_view symbol = text_after(text, "undefined symbol: ", " ,;)\t\n"); !symbol.empty())
    return explain_symbol(failure, std::string(symbol));
  if (const std::string_view version = text_after(text, ": version `", "'"); !version.empty())
    return explain_version(failure, version, library_path);
  const DependencyClosure closure = walk.walk(library_path);  // whatever language the system's text is in
  // An empty chain: it is the library itself that cannot be read, as the system said.
  if (!closure.missing.empty() && !closure.missing[0].chain.empty())
    return explain_missing(failure, closure.missing, manifest);
  return {failure, ""};
}

}  // namespace backplane
