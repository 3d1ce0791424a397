// EnvironmentOverlay: gives a variable another value for a while, as seen by this process.
//
// memkind takes its nodes from the environment and from nowhere else, and a plugin must not change the environment. So
// the whole list of variables is exchanged for a copy while memkind looks, and then put back: threads that read the
// environment meanwhile find either list whole, and children inherit nothing.
// Thread safety: other threads may read the environment; what one of them sets meanwhile is kept. One overlay at a
// time.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace backplane_cpu_hbm {

class EnvironmentOverlay {
 public:
  EnvironmentOverlay(const std::string& name, const std::string& value);
  ~EnvironmentOverlay() { end(); }
  EnvironmentOverlay(const EnvironmentOverlay&) = delete;
  EnvironmentOverlay& operator=(const EnvironmentOverlay&) = delete;

  // Puts the old list back. What the copy lies in lives on until destruction: readers may still be in it.
  void end();

 private:
  const std::string name_;
  std::string text_;                // "name=value"
  std::optional<std::string> old_;  // value
  std::vector<char*> entries_;
  char** before_;
  bool ended_ = false;
};

}  // namespace backplane_cpu_hbm
