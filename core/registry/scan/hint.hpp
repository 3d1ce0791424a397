// Hints: what to do about a candidate that was not loaded, by the code of its report.
#pragma once

#include <string_view>

namespace backplane {

// One line for people; empty for codes of plugins that this version does not know.
std::string_view hint_of(std::string_view code);

}  // namespace backplane
