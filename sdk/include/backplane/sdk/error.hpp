// Errors inside a plugin, and the guard that keeps exceptions from crossing the ABI.
//
// A plugin throws sdk::Error (or anything else); every table function of tables.hpp runs inside `guard`, which turns
// it into a code and a text in the caller's bp_error. Thread safety: pure functions.
#pragma once

#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "backplane/abi/base.h"

namespace backplane::sdk {

// A failure with an ABI code. `native_code` is the driver's own number, 0 = none.
class Error : public std::exception {
 public:
  Error(bp_code code, std::string message, int64_t native_code = 0)
      : code_(code), native_code_(native_code), message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  bp_code code() const noexcept { return code_; }
  int64_t native_code() const noexcept { return native_code_; }

 private:
  bp_code code_;
  int64_t native_code_;
  std::string message_;
};

// Fills the caller's record as far as its size and text storage reach, and returns `code`. NULL is ignored.
// A text that does not fit is cut at a UTF-8 character.
inline bp_code set_error(bp_error* error, bp_code code, std::string_view message, int64_t native_code = 0,
                         uint32_t flags = 0) noexcept {
  if (error == nullptr || error->size < sizeof(bp_error)) return code;
  error->code = code;
  error->native_code = native_code;
  error->flags = flags;
  error->message_len = static_cast<uint32_t>(message.size());
  if (error->message == nullptr || error->message_cap == 0) return code;
  size_t length = message.size() < error->message_cap ? message.size() : error->message_cap - 1;
  if (length < message.size())
    while (length > 0 && (static_cast<unsigned char>(message[length]) & 0xC0u) == 0x80u) --length;
  std::memcpy(error->message, message.data(), length);
  error->message[length] = '\0';
  return code;
}

// Runs `body` and returns BP_OK, or the code of what it threw. A body may also return a bp_code.
template <class Body>
bp_code guard(bp_error* error, Body&& body) noexcept {
  try {
    if constexpr (std::is_same_v<decltype(body()), bp_code>) {
      return body();
    } else {
      body();
      return BP_OK;
    }
  } catch (const Error& e) {
    return set_error(error, e.code(), e.what(), e.native_code());
  } catch (const std::bad_alloc&) {
    return set_error(error, BP_E_HOST_MEMORY, "host memory is exhausted");
  } catch (const std::exception& e) {
    return set_error(error, BP_E_INTERNAL, e.what());
  } catch (...) {
    return set_error(error, BP_E_INTERNAL, "an exception of unknown type");
  }
}

}  // namespace backplane::sdk
