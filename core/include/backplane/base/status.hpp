// Status and Result<T>: how every fallible function of the core reports.
//
// A Status is one pointer; success is the null pointer and costs nothing. A failure carries one of the sixteen
// canonical codes, a message (what was wanted, what was found, where, what to do) and optionally a stable id, such
// as "manifest.unknown-key", that tools and tests compare instead of prose.
// Thread safety: values; const access from any thread.
#pragma once

#include <cassert>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backplane/abi/base.h"

namespace backplane {

enum class Code {
  ok,
  cancelled,
  unknown,
  invalid_argument,
  deadline_exceeded,
  not_found,
  already_exists,
  permission_denied,
  resource_exhausted,
  failed_precondition,
  aborted,
  out_of_range,
  unimplemented,
  internal,
  unavailable,
  data_loss,
  unauthenticated,
};

// Returns the lower-case name, such as "invalid_argument".
std::string_view code_name(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message, std::string_view id = {});

  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;

  bool ok() const { return failure_ == nullptr; }
  Code code() const { return failure_ ? failure_->code : Code::ok; }
  const std::string& message() const;
  // Stable id of the rule that failed, or empty.
  const std::string& id() const;
  // "invalid_argument: text", or "ok".
  std::string to_string() const;
  // The same failure with "context: " before its message; success stays success.
  Status with_context(std::string_view context) const;

 private:
  struct Failure {
    Code code;
    std::string message;
    std::string id;
  };
  std::unique_ptr<Failure> failure_;
};

// A T, or the Status that says why there is none. A Result made from a Status must be given a failure.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T from) : value_(std::move(from)) {}                                    // NOLINT(implicit)
  Result(Status status) : status_(std::move(status)) { assert(!status_.ok()); }  // NOLINT(implicit)

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }

  // REQUIRES: ok().
  T& value() & {
    assert(ok());
    return *value_;
  }
  const T& value() const& {
    assert(ok());
    return *value_;
  }
  T&& value() && {
    assert(ok());
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

inline Status ok_status() { return {}; }
Status invalid_argument(std::string message, std::string_view id = {});
Status not_found(std::string message, std::string_view id = {});
Status failed_precondition(std::string message, std::string_view id = {});
Status out_of_range(std::string message, std::string_view id = {});
Status unimplemented(std::string message, std::string_view id = {});
Status internal_error(std::string message, std::string_view id = {});
Status resource_exhausted(std::string message, std::string_view id = {});

// ---- the ABI's side

// The canonical code that stands for an ABI code; BP_OK and unknown positive values give Code::ok.
Code code_from_abi(bp_code code);
bp_code code_to_abi(Code code);

// A bp_error with storage for its text, to pass to plugin functions: `AbiError e; Status s = e.status(f(..., e))`.
class AbiError {
 public:
  AbiError();
  AbiError(const AbiError&) = delete;
  AbiError& operator=(const AbiError&) = delete;
  operator bp_error*() { return &error_; }  // NOLINT(implicit)
  const bp_error& record() const { return error_; }

  // Turns a returned code into a Status; `what` names the call and the object for the message. The Status' id is the
  // ABI code's name in lower case, such as "abi.device_memory".
  Status status(bp_code code, std::string_view what) const;

 private:
  bp_error error_;
  char text_[512];
};

#define BP_CONCAT_INNER(a, b) a##b
#define BP_CONCAT(a, b) BP_CONCAT_INNER(a, b)

// Returns from the enclosing function if the Status or Result `expr` is a failure.
#define BP_TRY(expr)                                                                           \
  do {                                                                                         \
    if (::backplane::Status bp_try_status = (expr); !bp_try_status.ok()) return bp_try_status; \
  } while (false)

// Declares `decl` from the Result `expr`, or returns its failure: BP_TRY_ASSIGN(auto graph, builder.finish());
#define BP_TRY_ASSIGN(decl, expr)                                                             \
  auto BP_CONCAT(bp_result_, __LINE__) = (expr);                                              \
  if (!BP_CONCAT(bp_result_, __LINE__).ok()) return BP_CONCAT(bp_result_, __LINE__).status(); \
  decl = std::move(BP_CONCAT(bp_result_, __LINE__)).value()

}  // namespace backplane
