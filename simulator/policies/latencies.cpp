#include "simulator/policies/latencies.h"

#include <array>
#include <vector>

#include "simulator/base/check.h"

namespace kvplan::policies {

std::span<const LatencyEntry* const> latencies() {
  // One line per member, sorted by name.
  static constexpr std::array kAll{
      &kAffineLatency,
      &kRooflineLatency,
  };
  return kAll;
}

Catalogue latency_descriptors() {
  static const auto kDescriptors = [] {
    std::vector<const Descriptor*> out;
    for (const LatencyEntry* entry : latencies()) out.push_back(&entry->descriptor);
    return out;
  }();
  return kDescriptors;
}

const LatencyEntry& latency_entry(const Choice& choice) {
  for (const LatencyEntry* entry : latencies())
    if (&entry->descriptor == &choice.descriptor()) return *entry;
  check_failed("choice is a latency model", __FILE__, __LINE__);
}

}  // namespace kvplan::policies
