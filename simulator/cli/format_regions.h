// The regions of a format's bytes, as results name them.
#pragma once

#include <array>

#include "simulator/formats/codec.h"

namespace kvplan::cli {

struct NamedRegion {
  const char* name;
  std::int64_t formats::Regions::*bytes;
  bool metadata;  ///< beside what is stored of elements: scales, zero points, places, codebooks
};
inline constexpr std::array<NamedRegion, 7> kRegions{{{"codes", &formats::Regions::codes, false},
                                                      {"scales", &formats::Regions::scales, true},
                                                      {"zeros", &formats::Regions::zeros, true},
                                                      {"index", &formats::Regions::index, true},
                                                      {"factors", &formats::Regions::factors, false},
                                                      {"centroids", &formats::Regions::centroids, true},
                                                      {"exact", &formats::Regions::exact, false}}};

inline const char* side_name(formats::Side side) {
  return side == formats::Side::kKeys ? "K" : "V";
}

}  // namespace kvplan::cli
