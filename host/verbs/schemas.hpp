// The JSON Schemas of manifests/, built into the program (schemas.cpp is made by CMake).
#pragma once

#include <string_view>

namespace backplane::cli {

std::string_view plugin_schema();
std::string_view config_schema();

}  // namespace backplane::cli
