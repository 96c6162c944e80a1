// How a time is known, most certain first. A time that is made from several times has the least certain source of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace kvplan::kernels {

enum class TimeSource : std::uint8_t {
  kTable,         ///< measured, for exactly this call
  kInterpolated,  ///< between measured times
  kExtrapolated,  ///< beyond the measured times, or from a measured call of a similar kind
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

/// A time of one call and its source.
struct SourcedTime {
  double us{0};
  TimeSource source{TimeSource::kTable};

  /// The same time with a source that is at most as certain as `other`.
  constexpr SourcedTime but_no_surer_than(TimeSource other) const { return {us, std::max(source, other)}; }
};

}  // namespace kvplan::kernels
