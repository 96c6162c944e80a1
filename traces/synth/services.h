// Synthetic services as a whole: arrivals, lengths and shared content belong together and are not chosen part by part
// (parts.h is for that). A member is one file with an entry and one line in services.cpp.
#pragma once

#include <cstdint>

#include "simulator/base/component.h"
#include "simulator/base/result.h"
#include "traces/record/trace.h"

namespace kvplan::traces {

struct ServiceOptions {
  std::int64_t requests{1500};
  std::uint64_t seed{1};
  std::int64_t block_tokens{16};  ///< tokens of one prefix id
};

struct ServiceEntry {
  Descriptor descriptor;
  /// The trace, in memory. Errors: an option that the member refuses.
  Result<Trace> (*make)(const Choice&, const ServiceOptions&);
};

Catalogue service_descriptors();
/// REQUIRES: the choice is of the family "service".
const ServiceEntry& service_entry(const Choice& choice);

}  // namespace kvplan::traces
