// The version that programs print and reports contain. The build sets it from the version of the CMake project.
#pragma once

#include <string_view>

namespace kvplan {
inline constexpr std::string_view kVersion = KVPLAN_VERSION;
}  // namespace kvplan
