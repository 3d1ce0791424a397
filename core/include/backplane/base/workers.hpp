// Workers: where CPU work runs. The host's plugins reach it through bp_host_i.parallel_for; an application may give
// the runtime a pool of its own by implementing this interface.
// Thread safety: every function may be called from any thread, concurrently.
#pragma once

#include <cstdint>

#include "backplane/abi/host.h"
#include "backplane/base/status.hpp"

namespace backplane {

class Workers {
 public:
  virtual ~Workers() = default;

  // Tasks that can run at the same time, the calling thread included; at least 1.
  virtual uint32_t count() const = 0;

  // Runs fn(arg, 0..task_count-1) and returns when all have returned; rules and errors as bp_host_i.parallel_for.
  virtual Status parallel_for(uint32_t task_count, uint32_t flags, bp_task_fn fn, void* arg) = 0;
};

}  // namespace backplane
