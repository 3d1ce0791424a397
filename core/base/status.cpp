#include "backplane/base/status.hpp"

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

constexpr std::string_view kCodeNames[] = {
    "ok",        "cancelled",       "unknown",           "invalid_argument",   "deadline_exceeded",
    "not_found", "already_exists",  "permission_denied", "resource_exhausted", "failed_precondition",
    "aborted",   "out_of_range",    "unimplemented",     "internal",           "unavailable",
    "data_loss", "unauthenticated",
};

struct CodePair {
  bp_code abi;
  Code code;
};
constexpr CodePair kCodePairs[] = {
    {BP_OK, Code::ok},
    {BP_E_UNKNOWN, Code::unknown},
    {BP_E_INVALID_ARG, Code::invalid_argument},
    {BP_E_UNSUPPORTED, Code::unimplemented},
    {BP_E_INCOMPATIBLE, Code::failed_precondition},
    {BP_E_HOST_MEMORY, Code::resource_exhausted},
    {BP_E_DEVICE_MEMORY, Code::resource_exhausted},
    {BP_E_DEVICE_LOST, Code::unavailable},
    {BP_E_CANCELLED, Code::cancelled},
    {BP_E_TIMEOUT, Code::deadline_exceeded},
    {BP_E_BUSY, Code::aborted},
    {BP_E_INTERNAL, Code::internal},
    {BP_E_STATE, Code::failed_precondition},
    {BP_E_DATA, Code::out_of_range},
    {BP_E_NO_HARDWARE, Code::not_found},
};

std::string abi_code_id(bp_code code) {
  switch (code) {
#define BP_CODE(name, value, meaning) \
  case value:                         \
    return to_lower(#name);
#include "backplane/abi/codes.def"
#undef BP_CODE
    default:
      return cat("code_", code);
  }
}

std::string_view abi_code_meaning(bp_code code) {
  switch (code) {
#define BP_CODE(name, value, meaning) \
  case value:                         \
    return meaning;
#include "backplane/abi/codes.def"
#undef BP_CODE
    default:
      return "a code that this version does not know";
  }
}

const std::string kEmpty;

}  // namespace

std::string_view code_name(Code code) { return kCodeNames[static_cast<int>(code)]; }

Status::Status(Code code, std::string message, std::string_view id) {
  if (code != Code::ok) failure_ = std::make_unique<Failure>(Failure{code, std::move(message), std::string(id)});
}

Status::Status(const Status& other) : failure_(other.ok() ? nullptr : std::make_unique<Failure>(*other.failure_)) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) *this = Status(other);
  return *this;
}

const std::string& Status::message() const { return failure_ ? failure_->message : kEmpty; }
const std::string& Status::id() const { return failure_ ? failure_->id : kEmpty; }

std::string Status::to_string() const { return ok() ? "ok" : cat(code_name(failure_->code), ": ", failure_->message); }

Status Status::with_context(std::string_view context) const {
  return ok() ? Status() : Status(failure_->code, cat(context, ": ", failure_->message), failure_->id);
}

Status invalid_argument(std::string message, std::string_view id) {
  return {Code::invalid_argument, std::move(message), id};
}
Status not_found(std::string message, std::string_view id) { return {Code::not_found, std::move(message), id}; }
Status failed_precondition(std::string message, std::string_view id) {
  return {Code::failed_precondition, std::move(message), id};
}
Status out_of_range(std::string message, std::string_view id) { return {Code::out_of_range, std::move(message), id}; }
Status unimplemented(std::string message, std::string_view id) { return {Code::unimplemented, std::move(message), id}; }
Status internal_error(std::string message, std::string_view id) { return {Code::internal, std::move(message), id}; }
Status resource_exhausted(std::string message, std::string_view id) {
  return {Code::resource_exhausted, std::move(message), id};
}

Code code_from_abi(bp_code code) {
  for (const CodePair& pair : kCodePairs)
    if (pair.abi == code) return pair.code;
  return code >= 0 ? Code::ok : Code::unknown;
}

bp_code code_to_abi(Code code) {
  for (const CodePair& pair : kCodePairs)
    if (pair.code == code) return pair.abi;
  return BP_E_UNKNOWN;
}

// The text is not cleared as a whole: this is made for every call of a plugin.
AbiError::AbiError() : error_{} {
  text_[0] = '\0';
  error_.size = sizeof error_;
  error_.message = text_;
  error_.message_cap = sizeof text_;
}

Status AbiError::status(bp_code code, std::string_view what) const {
  if (code >= 0) return {};
  const std::string_view text = text_[0] != '\0' ? std::string_view(text_) : abi_code_meaning(code);
  return {code_from_abi(code), cat(what, ": ", text), cat("abi.", abi_code_id(code))};
}

}  // namespace backplane
