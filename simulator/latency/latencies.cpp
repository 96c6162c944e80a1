#include "simulator/latency/latencies.h"

#include <numeric>

#include "simulator/base/family.h"

// One line per member, sorted by name.
#define KVPLAN_LATENCIES(MEMBER) \
  MEMBER(latency_affine)         \
  MEMBER(latency_calibrated)     \
  MEMBER(latency_composed)       \
  MEMBER(latency_distserve)      \
  MEMBER(latency_roofline)

namespace kvplan::latency {

KVPLAN_FAMILY(LatencyEntry, KVPLAN_LATENCIES)

double PartlyRead::of_bytes(const model::ModelShape& shape) const {
  double part = 0, all = 0;
  std::size_t layer = 0;
  for (const model::LayerRun& run : shape.runs) {
    const auto elements = static_cast<double>(run.cache.elements());
    for (std::int64_t i = 0; i < run.layers; ++i) part += elements * layers[layer++];
    all += elements * static_cast<double>(run.layers);
  }
  return part / all;
}

double PartlyRead::of_layers() const {
  return std::accumulate(layers.begin(), layers.end(), 0.0) / static_cast<double>(layers.size());
}

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
