#include "simulator/replacement/lru_curve.h"

#include <algorithm>
#include <cmath>

#include "simulator/base/units.h"
#include "simulator/replacement/stack_distance.h"

namespace kvplan::replacement {
namespace {

std::uint64_t mixed(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/// Turns counts by distance into counts up to each distance.
void add_up(std::vector<std::int64_t>& counts) {
  for (std::size_t d = 1; d < counts.size(); ++d) counts[d] += counts[d - 1];
}

void count_one(std::vector<std::int64_t>& counts, std::size_t distance) {
  if (distance >= counts.size()) counts.resize(std::max(distance + 1, 2 * counts.size()));
  ++counts[distance];
}

}  // namespace

Result<LruCurve> lru_curve(const References& refs, bool (*stop_asked)()) {
  StackDistances distances(refs.distinct);
  LruCurve curve;
  curve.hits.resize(std::size_t{refs.distinct} + 1);
  for (std::size_t r = 0; r < refs.prompts(); ++r) {
    if (stop_asked != nullptr && r % 1024 == 0 && stop_asked()) return interrupted_error();
    // A prefix hit of a prompt's block needs a size that holds it and all blocks before it.
    std::uint32_t most = 0;
    for (std::uint64_t k = refs.offsets[r]; k < refs.offsets[r + 1]; ++k) {
      const std::uint32_t distance = distances.use(refs.ids[k]);
      most = distance == 0 ? UINT32_MAX : std::max(most, distance);
      if (distance > 0) ++curve.hits[distance].object;
      if (most != UINT32_MAX) ++curve.hits[most].prefix;
    }
  }
  for (std::size_t c = 1; c < curve.hits.size(); ++c) {
    curve.hits[c].object += curve.hits[c - 1].object;
    curve.hits[c].prefix += curve.hits[c - 1].prefix;
  }
  while (curve.hits.size() > 1 && curve.hits.back() == curve.hits[curve.hits.size() - 2])
    curve.hits.pop_back();
  return curve;
}

double SampledCurve::Part::hit_rate(std::int64_t capacity) const {
  const auto fits = static_cast<std::size_t>(
      std::min(static_cast<double>(capacity) * rate, static_cast<double>(hits.size() - 1)));
  const double missing = references - static_cast<double>(sampled);
  return std::clamp((static_cast<double>(hits[fits]) + missing) / references, 0.0, 1.0);
}

SampledCurve::Estimate SampledCurve::at(std::int64_t capacity) const {
  double sum = 0, squares = 0;
  for (const Part& part : parts_) sum += part.hit_rate(capacity);
  const double mean = sum / kParts;
  for (const Part& part : parts_) {
    const double off = part.hit_rate(capacity) - mean;
    squares += off * off;
  }
  return {whole_.hit_rate(capacity), std::sqrt(squares / (kParts - 1) / kParts)};
}

Result<SampledCurve> sampled_lru_curve(const References& refs, const Fraction& rate, std::uint64_t seed,
                                       bool (*stop_asked)()) {
  // Blocks with hashes below the limit are sampled; the hash also decides the part to which a block belongs.
  const auto limit = static_cast<std::uint64_t>((Wide{1} << 48) * rate.numerator / rate.denominator);
  std::vector<Id> dense(refs.distinct, kNoId);  // numbers of the sampled blocks, from 0
  std::vector<std::uint8_t> part(refs.distinct, 0);
  Id ids = 0;
  for (Id id = 0; id < refs.distinct; ++id) {
    const std::uint64_t hash = mixed(id + mixed(seed)) >> 16;
    if (hash >= limit) continue;
    dense[id] = ids++;
    part[id] = static_cast<std::uint8_t>(hash * SampledCurve::kParts / limit);
  }
  SampledCurve curve;
  std::vector<StackDistances> distances(SampledCurve::kParts + 1, StackDistances(ids));
  const auto each = [&](std::size_t p) -> SampledCurve::Part& {
    return p == SampledCurve::kParts ? curve.whole_ : curve.parts_[p];
  };
  for (std::size_t r = 0; r < refs.prompts(); ++r) {
    if (stop_asked != nullptr && r % 1024 == 0 && stop_asked()) return interrupted_error();
    for (std::uint64_t k = refs.offsets[r]; k < refs.offsets[r + 1]; ++k) {
      const Id id = refs.ids[k];
      if (dense[id] == kNoId) continue;
      for (const std::size_t p : {std::size_t{part[id]}, SampledCurve::kParts}) {
        ++each(p).sampled;
        const std::uint32_t distance = distances[p].use(dense[id]);
        if (distance > 0) count_one(each(p).hits, distance);
      }
    }
  }
  curve.sampled_ = curve.whole_.sampled;
  const double share = static_cast<double>(rate.numerator) / static_cast<double>(rate.denominator);
  for (std::size_t p = 0; p <= SampledCurve::kParts; ++p) {
    SampledCurve::Part& some = each(p);
    if (some.sampled == 0)
      return bad_input("the sample has too few blocks to estimate its error: expected a larger share")
          .at_field("--sample");
    some.rate = p == SampledCurve::kParts ? share : share / SampledCurve::kParts;
    some.references = some.rate * static_cast<double>(refs.count());
    if (some.hits.empty()) some.hits.resize(1);
    add_up(some.hits);
  }
  const std::vector<std::int64_t>& hits = curve.whole_.hits;
  for (std::size_t d = 1; d < hits.size(); ++d) {
    if (hits[d] == hits[d - 1]) continue;
    const auto needed = Wide{static_cast<std::int64_t>(d)} * rate.denominator + rate.numerator - 1;
    curve.capacities_.push_back(static_cast<std::int64_t>(needed / rate.numerator));
  }
  return curve;
}

}  // namespace kvplan::replacement
