// The latency family: how long a step takes. A member is one file latency_NAME.cpp with a `LatencyEntry` and
// one line in latencies.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "simulator/base/component.h"
#include "simulator/core/latency.h"
#include "simulator/model/model_shape.h"

namespace kvplan::policies {

struct LatencyEntry {
  Descriptor descriptor;
  /// Errors: coefficients that do not fit once rounded to ticks; a model that does not say what is needed of it.
  Result<std::unique_ptr<core::LatencyModel>> (*make)(const Choice&, const model::ModelShape&);
  /// A sentence for the report where the model assumes what nobody measured; else empty.
  std::string_view assumption{};
};

std::span<const LatencyEntry* const> latencies();
Catalogue latency_descriptors();
/// REQUIRES: the choice is of family "latency".
const LatencyEntry& latency_entry(const Choice& choice);

}  // namespace kvplan::policies
