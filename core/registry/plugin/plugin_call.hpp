// Calls into plugins: the one guard between their code and ours.
#pragma once

#include <exception>
#include <string_view>

#include "backplane/base/status.hpp"
#include "backplane/base/text.hpp"

namespace backplane {

// The failure that stands for an exception that a plugin let out.
inline Status plugin_threw(std::string_view what, std::string_view text) {
  return internal_error(cat(what, ": the plugin threw an exception: ", text), "plugin.threw");
}

// Runs body(), which returns a Status, and turns an exception into a failure.
template <class Body>
Status guard_plugin(std::string_view what, Body&& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    return plugin_threw(what, error.what());
  } catch (...) {
    return plugin_threw(what, "of an unknown type");
  }
}

// Runs body(bp_error*), which returns a bp_code, and makes a Status of it. `what` names the call.
template <class Body>
Status call_plugin(std::string_view what, Body&& body) {
  return guard_plugin(what, [&] {
    AbiError error;
    const bp_code code = body(static_cast<bp_error*>(error));
    return error.status(code, what);
  });
}

}  // namespace backplane
