#include "faults.hpp"

namespace fake {

bp_code Faults::next(CallKind kind) {
  const std::lock_guard lock(mutex_);
  ++calls_[static_cast<size_t>(kind)];
  ++calls_[static_cast<size_t>(CallKind::kAny)];
  for (const Fault& fault : faults_)
    if ((fault.kind == kind || fault.kind == CallKind::kAny) && fault.call == calls_[static_cast<size_t>(fault.kind)])
      return fault.code;
  return BP_OK;
}

void Faults::set(CallKind kind, uint64_t ahead, bp_code code) {
  const std::lock_guard lock(mutex_);
  if (ahead == 0) return faults_.clear();
  faults_.push_back({kind, calls_[static_cast<size_t>(kind)] + ahead, code});
}

uint64_t Faults::calls(CallKind kind) const {
  const std::lock_guard lock(mutex_);
  return calls_[static_cast<size_t>(kind)];
}

void Faults::reset() {
  const std::lock_guard lock(mutex_);
  for (Fault& fault : faults_) {
    const uint64_t done = calls_[static_cast<size_t>(fault.kind)];
    fault.call = fault.call > done ? fault.call - done : 0;
  }
  calls_ = {};
}

}  // namespace fake
