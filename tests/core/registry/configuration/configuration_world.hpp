// What the tests of the configuration share: three folders, lowest first, with files in them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "backplane/registry/configuration.hpp"
#include "fixtures/plugin_world.hpp"

namespace backplane {

constexpr const char* kFolders[] = {"usr", "etc", "user"};  // lowest first

class ConfigurationTest : public ::testing::Test {
 protected:
  ConfigurationTest() {
    world_.set("BACKPLANE_PROBE", "");
    for (const char* folder : kFolders) folders_.push_back(world_.folder(folder).string());
  }

  // Writes FOLDER/NAME with further members, one line each from line 2 on.
  std::string write(const std::string& folder, const std::string& name, const std::string& members = "") {
    const std::string text = "{\"file_format_version\": \"1.0\"" + (members.empty() ? "" : ",\n" + members) + "}\n";
    return world_.write(world_.folder(folder) / name, text).string();
  }
  std::string link(const std::string& target, const std::string& folder, const std::string& name) {
    const std::filesystem::path path = world_.folder(folder) / name;
    std::filesystem::create_symlink(target, path);
    return path.string();
  }
  Configuration load() const { return load_configuration(world_.environment(), folders_); }

  static ConfigurationFile::State state_of(const Configuration& configuration, const std::string& path) {
    for (const ConfigurationFile& file : configuration.files)
      if (file.path == path) return file.state;
    ADD_FAILURE() << path << " is not listed";
    return ConfigurationFile::State::used;
  }
  static std::string by(const Configuration& configuration, const std::string& path) {
    for (const ConfigurationFile& file : configuration.files)
      if (file.path == path) return file.by;
    return "not listed";
  }
  // The notices as "severity code" of all of them.
  static std::vector<std::string> codes(const Configuration& configuration) {
    std::vector<std::string> codes;
    for (const Notice& notice : configuration.notices)
      codes.push_back(std::string(severity_name(notice.severity)) + " " + notice.code);
    return codes;
  }
  using Codes = std::vector<std::string>;
  using Texts = std::vector<std::string>;

  PluginWorld world_;
  std::vector<std::string> folders_;
};

}  // namespace backplane
