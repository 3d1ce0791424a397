// Input batches: small graph inputs that go to one device before one split lie beside each other there as at home, in
// the same order and at the same distances, so that one transfer carries them all.
//
// Thread safety: a pure function, but that devices are asked for sizes.
#pragma once

#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/runtime/device.hpp"
#include "scheduler/plan/splitter.hpp"

namespace backplane {

// Puts copies that can be one transfer behind each other, marks all but the first as `joined`, and fills in cut.groups.
// Errors: what devices say when they are asked for the size of a tensor.
Status batch_inputs(const SplitInput& input, const std::vector<Device*>& devices, SplitResult& cut);

}  // namespace backplane
