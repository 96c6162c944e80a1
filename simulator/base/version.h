// The version that programs print and reports carry; the build gives it from the project's number.
#pragma once

#include <string_view>

namespace kvplan {
inline constexpr std::string_view kVersion = KVPLAN_VERSION;
}  // namespace kvplan
