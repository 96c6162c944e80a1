#include "simulator/attention/recorded_sets.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "simulator/attention/policy.h"

namespace kvplan::attention {
namespace {

Status differs(const std::string& what, std::int64_t expected, std::size_t found) {
  return bad_input("expected " + std::to_string(expected) + " " + what + ", found " + std::to_string(found))
      .at_field("recorded:file");
}

/// `kept` becomes what this step leaves of it.
Status follow(std::vector<std::int32_t>& kept, const std::vector<std::int32_t>& next, std::int64_t t) {
  const std::string at = "after token " + std::to_string(t);
  if (std::adjacent_find(next.begin(), next.end(), std::greater_equal<>()) != next.end())
    return bad_input("expected ascending positions " + at).at_field("recorded:file");
  if (!std::includes(kept.begin(), kept.end(), next.begin(), next.end()))
    return bad_input("expected only positions that were kept before or are new, found another " + at)
        .at_field("recorded:file");
  kept = next;
  return Done{};
}

}  // namespace

Status check_recorded(const RecordedLayers& recorded, const LayerPlace& place, std::int64_t sets,
                      std::int64_t tokens) {
  if (recorded.prompt != place.prompt)
    return differs("prompt tokens", place.prompt, static_cast<std::size_t>(recorded.prompt));
  const RecordedSets* const own = recorded.of(place.layer);
  if (own == nullptr) {
    std::string found;
    for (const RecordedSets& each : recorded.layers)
      found += (found.empty() ? " " : ", ") + std::to_string(*each.layer);
    return bad_input("expected sets of layer " + std::to_string(place.layer) + ", found those of" +
                     (found.empty() ? " none" : found))
        .at_field("recorded:file");
  }
  if (static_cast<std::int64_t>(own->after.size()) != tokens - place.prompt + 1)
    return differs("steps with the prompt's end", tokens - place.prompt + 1, own->after.size());
  for (const auto& step : own->after)
    if (static_cast<std::int64_t>(step.size()) != sets)
      return differs("sets at each step", sets, step.size());
  for (std::size_t s = 0; s < static_cast<std::size_t>(sets); ++s) {
    std::vector<std::int32_t> kept(static_cast<std::size_t>(place.prompt));
    std::iota(kept.begin(), kept.end(), 0);
    for (std::int64_t t = place.prompt - 1; t < tokens; ++t) {
      if (t >= place.prompt) kept.push_back(static_cast<std::int32_t>(t));
      auto fits = follow(kept, own->after[static_cast<std::size_t>(t - place.prompt + 1)][s], t);
      if (!fits.ok())
        return bad_input(fits.error().message + ", set " + std::to_string(s)).at_field("recorded:file");
    }
  }
  return Done{};
}

}  // namespace kvplan::attention
