// verdict: what the parser of manifests or of configuration files says of each document, for the tests that hold the
// published schemas and the documentation against it.
//
//   verdict manifest|config < PATHS     prints a line for each path: "ok", or the code of what is wrong
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "registry/configuration/config_document.hpp"
#include "registry/manifest/manifest.hpp"

namespace {

std::string manifest_verdict(const std::string& text) {
  const auto manifest = backplane::parse_manifest(text, "document");
  return manifest ? "ok" : manifest.status().id();
}

// An unknown key is a warning, which is as good as a fault here: the schema has no warnings.
std::string config_verdict(const std::string& text) {
  const auto document = backplane::parse_config(text, "document");
  if (!document) return document.status().id();
  for (const backplane::Notice& notice : document->notices)
    if (notice.severity != backplane::Severity::info) return notice.code;
  return "ok";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc == 2 ? argv[1] : "";
  if (kind != "manifest" && kind != "config") {
    std::cerr << "usage: verdict manifest|config < PATHS\n";
    return 2;
  }
  for (std::string path; std::getline(std::cin, path);) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      std::cerr << "verdict: cannot open " << path << "\n";
      return 1;
    }
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::cout << (kind == "manifest" ? manifest_verdict(text) : config_verdict(text)) << "\n";
  }
  return 0;
}
