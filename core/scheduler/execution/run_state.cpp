#include "scheduler/execution/run_state.hpp"

namespace backplane {

Setback setback_of(const Status& status, uint32_t device, uint32_t split) {
  if (status.ok() || device == kNone) return {};
  if (status.id() == "abi.e_device_lost") return {Setback::Kind::lost, device, kNone};
  if (status.code() == Code::resource_exhausted) return {Setback::Kind::no_memory, device, kNone};
  if (status.code() == Code::unimplemented && split != kNone) return {Setback::Kind::refused, device, split};
  return {};
}

}  // namespace backplane
