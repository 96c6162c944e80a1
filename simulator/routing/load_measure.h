// The load by which routers compare replicas.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "simulator/base/component.h"
#include "simulator/core/router.h"

namespace kvplan::routing {

enum class LoadMeasure : std::uint8_t {
  kRequests,  ///< running and waiting requests, preempted ones included
  kTokens,    ///< prompt and generated tokens of the same requests
  kBlocks,    ///< blocks that requests hold, shared ones counted once
};

inline std::int64_t measured(const core::Load& load, LoadMeasure by) {
  switch (by) {
    case LoadMeasure::kTokens:
      return load.tokens;
    case LoadMeasure::kBlocks:
      return load.blocks;
    default:
      return load.running + load.waiting;
  }
}

/// The replica with the least load; the first of equal ones.
inline std::int64_t least_loaded(const core::FleetView& fleet, LoadMeasure by) {
  std::int64_t best = 0;
  std::int64_t least = INT64_MAX;
  for (std::int64_t i = 0; i < fleet.replicas(); ++i) {
    const std::int64_t load = measured(fleet.load(i), by);
    if (load >= least) continue;
    best = i;
    least = load;
  }
  return best;
}

inline constexpr std::array<std::string_view, 3> kLoadMeasures{"requests", "tokens", "blocks"};
inline constexpr Param kLoadMeasureParam{
    .name = "by",
    .help =
        "Measure of load: running and waiting requests, their tokens so far, or the blocks that they hold",
    .kind = ParamKind::kText,
    .fallback = "requests",
    .choices = kLoadMeasures};

inline LoadMeasure load_measure(const Choice& choice) {
  const std::string& by = choice.text(kLoadMeasureParam.name);
  if (by == "tokens") return LoadMeasure::kTokens;
  return by == "blocks" ? LoadMeasure::kBlocks : LoadMeasure::kRequests;
}

}  // namespace kvplan::routing
