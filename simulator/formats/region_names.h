// The regions of a format's bytes with their names in results, and which of them are metadata.
#pragma once

#include <array>

#include "simulator/formats/codec.h"

namespace kvplan::formats {

struct NamedRegion {
  const char* name;
  std::int64_t Regions::*bytes;
  bool metadata;  ///< true: scales, zero points, positions or codebooks, not elements themselves
};
inline constexpr std::array<NamedRegion, 7> kRegions{{{"codes", &Regions::codes, false},
                                                      {"scales", &Regions::scales, true},
                                                      {"zeros", &Regions::zeros, true},
                                                      {"index", &Regions::index, true},
                                                      {"factors", &Regions::factors, false},
                                                      {"centroids", &Regions::centroids, true},
                                                      {"exact", &Regions::exact, false}}};

inline const char* side_letter(Side side) {
  return side == Side::kKeys ? "K" : "V";
}

}  // namespace kvplan::formats
