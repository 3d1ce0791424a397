#include "environment_overlay.hpp"

#include <unistd.h>

#include <string_view>

namespace backplane_cpu_hbm {

EnvironmentOverlay::EnvironmentOverlay(const std::string& name, const std::string& value)
    : copy_(std::make_unique<Copy>()), before_(__atomic_load_n(&environ, __ATOMIC_ACQUIRE)) {
  copy_->text = name + "=" + value;
  copy_->entries.push_back(copy_->text.data());
  for (char** entry = before_; entry != nullptr && *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with(name + "=")) copy_->entries.push_back(*entry);
  copy_->entries.push_back(nullptr);
  __atomic_store_n(&environ, copy_->entries.data(), __ATOMIC_RELEASE);
}

void EnvironmentOverlay::end() {
  if (before_ == nullptr || copy_ == nullptr) return;
  char** ours = copy_->entries.data();
  const bool put_back =
      __atomic_compare_exchange_n(&environ, &ours, before_, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  // Somebody's setenv has made a list from ours: it refers to our text for as long as the process lives.
  if (!put_back) static_cast<void>(copy_.release());
  before_ = nullptr;
}

}  // namespace backplane_cpu_hbm
