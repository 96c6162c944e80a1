#include "simulator/latency/latencies.h"

#include "simulator/base/family.h"

// One line per member, sorted by name.
#define KVPLAN_LATENCIES(MEMBER) \
  MEMBER(kAffineLatency)         \
  MEMBER(kCalibratedLatency)     \
  MEMBER(kComposedLatency)       \
  MEMBER(kDistServeLatency)      \
  MEMBER(kRooflineLatency)

namespace kvplan::latency {

KVPLAN_FAMILY(LatencyEntry, KVPLAN_LATENCIES)

std::span<const LatencyEntry* const> latencies() {
  return family().members();
}

Catalogue latency_descriptors() {
  return family().descriptors();
}

const LatencyEntry& latency_entry(const Choice& choice) {
  return family().member(choice);
}

std::string latency_text_for(const LatencyWish& wish) {
  for (const LatencyEntry* entry : latencies()) {
    std::string text = entry->text_for == nullptr ? std::string() : entry->text_for(wish);
    if (!text.empty()) return text;
  }
  return {};
}

}  // namespace kvplan::latency
