#include "environment_overlay.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace backplane_cpu_hbm {

EnvironmentOverlay::EnvironmentOverlay(const std::string& name, const std::string& value)
    : name_(name), text_(name + "=" + value), before_(__atomic_load_n(&environ, __ATOMIC_ACQUIRE)) {
  entries_.push_back(text_.data());
  for (char** entry = before_; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view old = *entry;
    if (old.starts_with(name + "="))
      old_ = old.substr(name.size() + 1);
    else
      entries_.push_back(*entry);
  }
  entries_.push_back(nullptr);
  __atomic_store_n(&environ, entries_.data(), __ATOMIC_RELEASE);
}

void EnvironmentOverlay::end() {
  if (ended_) return;
  ended_ = true;
  char** ours = entries_.data();
  if (__atomic_compare_exchange_n(&environ, &ours, before_, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
  // Somebody has set a variable, and the system library has made a list of its own from ours: only our entry must go.
  if (old_)
    setenv(name_.c_str(), old_->c_str(), 1);
  else
    unsetenv(name_.c_str());
}

}  // namespace backplane_cpu_hbm
