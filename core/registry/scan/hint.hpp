// Hints: what to do about a candidate that was not loaded, by the code of its report.
#pragma once

#include <string_view>

namespace backplane {

// One line for people; empty if there is nothing to do, or if the code is not known.
std::string_view hint_of(std::string_view code);

}  // namespace backplane
