// Window: the sliding window of convolution and pooling, in three spatial axes. Internal to core/reference.
//
// Fewer spatial axes are three with leading extents of 1, so every op is written once.
#pragma once

#include <array>
#include <cstdint>

#include "call.hpp"
#include "iteration.hpp"

namespace backplane::reference {

using Extents = std::array<int64_t, 3>;

inline int64_t volume(const Extents& extents) { return product(extents); }

// The last axes of `list` from `first` on, at most three, behind leading `filler`s.
inline Extents spatial(std::span<const int64_t> list, size_t first, int64_t filler = 1) {
  Extents extents{filler, filler, filler};
  for (size_t i = first; i < list.size(); ++i) extents[i + 3 - list.size()] = list[i];
  return extents;
}

struct Window {
  Extents kernel, stride, dilation, begin, end;

  // From the attributes of a call with input 0 of shape [N, C, spatial...].
  static Window of(const Call& call, const Extents& kernel) {
    const size_t rank = call.input(0).shape().size() - 2;
    const std::vector<int64_t> pads = call.list(BP_ATTR_PADS, 2 * rank, 0);
    const std::span<const int64_t> all(pads);
    return {kernel, spatial(call.list(BP_ATTR_STRIDES, rank, 1), 0), spatial(call.list(BP_ATTR_DILATIONS, rank, 1), 0),
            spatial(all.first(rank), 0, 0), spatial(all.subspan(rank), 0, 0)};
  }

  // Where tap `tap` of the window at `position` lies on one axis of the unpadded tensor; may be outside of it.
  int64_t place(size_t axis, int64_t position, int64_t tap) const {
    return position * stride[axis] - begin[axis] + tap * dilation[axis];
  }
};

// Calls f(index) for every index within `extents`, in row-major order.
template <class F>
void for_each_index(const Extents& extents, F&& f) {
  for (int64_t d = 0; d < extents[0]; ++d)
    for (int64_t h = 0; h < extents[1]; ++h)
      for (int64_t w = 0; w < extents[2]; ++w) f(Extents{d, h, w});
}

// Calls f(offset into a tensor of `bounds`, offset into the kernel) for the taps of the window that lie inside.
template <class F>
void for_each_tap(const Window& window, const Extents& position, const Extents& bounds, F&& f) {
  int64_t tap = -1;
  for_each_index(window.kernel, [&](const Extents& at) {
    ++tap;
    int64_t offset = 0;
    for (size_t axis = 0; axis < 3; ++axis) {
      const int64_t place = window.place(axis, position[axis], at[axis]);
      if (place < 0 || place >= bounds[axis]) return;
      offset = offset * bounds[axis] + place;
    }
    f(offset, tap);
  });
}

}  // namespace backplane::reference
