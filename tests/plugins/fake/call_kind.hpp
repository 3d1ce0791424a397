// The kinds of calls that a fake device counts and that faults can strike. Thread safety: values.
#pragma once

#include <array>
#include <cstddef>

#include "fake_extension.h"

namespace fake {

enum class CallKind : uint32_t {
  kSubmit = BP_FAKE_SUBMIT,
  kCopy = BP_FAKE_COPY,
  kAllocate = BP_FAKE_ALLOCATE,
  kCompile = BP_FAKE_COMPILE,
  kStream = BP_FAKE_STREAM,
  kEvent = BP_FAKE_EVENT,
  kWrite = BP_FAKE_WRITE,
  kRead = BP_FAKE_READ,
  kMap = BP_FAKE_MAP,
  kSynchronize = BP_FAKE_SYNCHRONIZE,
  kAny = BP_FAKE_ANY,
};

// By CallKind, as the options spell them: "fail_submit_at".
inline constexpr std::array<const char*, BP_FAKE_CALL_KINDS> kCallKindNames{
    "submit", "copy", "allocate", "compile", "stream", "event", "write", "read", "map", "synchronize", "any"};

}  // namespace fake
