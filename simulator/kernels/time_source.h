// Where a time comes from, the surest first. What is made of several times has the last of their sources.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace kvplan::kernels {

enum class TimeSource : std::uint8_t {
  kTable,         ///< measured, for exactly this call
  kInterpolated,  ///< between measured ones
  kExtrapolated,  ///< beyond them, or a measured one of a call that is alike
  kRoofline,      ///< from the device's data sheet
};

constexpr std::string_view source_name(TimeSource source) {
  switch (source) {
    case TimeSource::kTable:
      return "table";
    case TimeSource::kInterpolated:
      return "interpolated";
    case TimeSource::kExtrapolated:
      return "extrapolated";
    case TimeSource::kRoofline:
      return "roofline";
  }
  return {};
}

/// A time of one call and where it is from.
struct SourcedTime {
  double us{0};
  TimeSource source{TimeSource::kTable};

  /// At least as unsure as `other`.
  constexpr SourcedTime but_no_surer_than(TimeSource other) const { return {us, std::max(source, other)}; }
};

}  // namespace kvplan::kernels
