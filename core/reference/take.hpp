// take: y[i, j, ...] = x[sources[0][i], sources[1][j], ...], moving bytes. Internal to core/reference.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "backplane/graph/host_tensor.hpp"
#include "iteration.hpp"

namespace backplane::reference {

// An index into one axis of x for each index into that axis of y; kOutside where y takes the fill value.
using AxisSources = std::vector<int64_t>;
inline constexpr int64_t kOutside = -1;

// `fill` is one element of x's type; it may be empty if no source is kOutside. Errors: resource_exhausted.
Result<HostTensor> take(const HostTensor& x, std::span<const AxisSources> sources, std::span<const std::byte> fill);

}  // namespace backplane::reference
