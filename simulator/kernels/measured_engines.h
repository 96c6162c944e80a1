// Engines with measured kernels, as the column `engine` of kernel tables writes them (data/, README.md).
#pragma once

#include <array>
#include <string_view>

namespace kvplan::kernels {

inline constexpr std::array<std::string_view, 3> kMeasuredEngines{"vllm", "sglang", "trtllm"};

}  // namespace kvplan::kernels
