// OptionReader: typed reading of the options that a plugin is opened with.
//
// Ask for every option once, then call `finish`, which refuses keys that nobody asked for. Options are borrowed.
// Thread safety: one reader, one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backplane/abi/plugin.h"
#include "backplane/sdk/error.hpp"

namespace backplane::sdk {

class OptionReader {
 public:
  OptionReader(const void* options, uint32_t count, uint32_t stride)
      : options_(options), count_(count), stride_(stride), used_(count, false) {
    if (count != 0 && (options == nullptr || stride < sizeof(bp_option)))
      throw Error(BP_E_INVALID_ARG, "the option array is NULL or its stride is too short");
  }

  // The option's value, or the fallback if it is absent. Throws BP_E_INVALID_ARG for a wrong type or range.
  int64_t integer(std::string_view key, int64_t fallback, int64_t min, int64_t max) {
    const bp_option* o = take(key, BP_OPTION_I64, "an integer");
    if (o == nullptr) return fallback;
    if (o->i < min || o->i > max)
      refuse(key, "wanted " + std::to_string(min) + " to " + std::to_string(max) + ", found " + std::to_string(o->i));
    return o->i;
  }
  double number(std::string_view key, double fallback) {
    const bp_option* o = find(key);
    if (o != nullptr && o->type == BP_OPTION_I64) return mark(o), static_cast<double>(o->i);
    o = take(key, BP_OPTION_F64, "a number");
    return o != nullptr ? o->f : fallback;
  }
  bool boolean(std::string_view key, bool fallback) {
    const bp_option* o = take(key, BP_OPTION_BOOL, "true or false");
    return o != nullptr ? o->i != 0 : fallback;
  }
  std::string text(std::string_view key, std::string_view fallback) {
    const bp_option* o = take(key, BP_OPTION_TEXT, "a string");
    return o != nullptr ? std::string(o->text, o->text_len) : std::string(fallback);
  }

  // Throws BP_E_INVALID_ARG naming the first option that was never asked for.
  void finish() const {
    for (uint32_t i = 0; i < count_; ++i)
      if (!used_[i]) refuse(at(i)->key, "this plugin has no such option");
  }

 private:
  const bp_option* at(uint32_t i) const {
    return reinterpret_cast<const bp_option*>(static_cast<const char*>(options_) + static_cast<size_t>(i) * stride_);
  }
  const bp_option* find(std::string_view key) const {
    for (uint32_t i = 0; i < count_; ++i)
      if (key == at(i)->key) return at(i);
    return nullptr;
  }
  void mark(const bp_option* o) {
    used_[static_cast<size_t>(reinterpret_cast<const char*>(o) - static_cast<const char*>(options_)) / stride_] = true;
  }
  const bp_option* take(std::string_view key, uint32_t type, const char* wanted) {
    const bp_option* o = find(key);
    if (o == nullptr) return nullptr;
    if (o->type != type) refuse(key, std::string("wanted ") + wanted);
    mark(o);
    return o;
  }
  [[noreturn]] static void refuse(std::string_view key, const std::string& why) {
    throw Error(BP_E_INVALID_ARG, "option '" + std::string(key) + "': " + why);
  }

  const void* options_;
  uint32_t count_, stride_;
  std::vector<bool> used_;
};

}  // namespace backplane::sdk
