// A plan as a page of its own: the splits, and a map of each buffer, time by address, with a rectangle for each tensor.
// Thread safety: a pure function.
#pragma once

#include <string>
#include <string_view>

#include "backplane/scheduler/plan.hpp"

namespace backplane::cli {

// XHTML with inline SVG, which refers to nothing outside. Hovering over a rectangle shows the tensor's name and size.
std::string plan_html(const Plan& plan, std::string_view title);

}  // namespace backplane::cli
