#include "simulator/attention/recorded_sets.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "simulator/attention/policy.h"

namespace kvplan::attention {
namespace {

constexpr std::string_view kField = "recorded:file";

Error differs(const std::string& what, std::int64_t expected, std::size_t found) {
  return bad_input("expected " + std::to_string(expected) + " " + what + ", found " + std::to_string(found));
}

/// Checks that step t keeps only tokens that existed: of [0, new_from) those in `kept`, and any from there to t.
Status follows(const std::vector<std::int32_t>& kept, std::int64_t new_from,
               const std::vector<std::int32_t>& next, std::int64_t t) {
  const std::string at = "after token " + std::to_string(t);
  if (std::adjacent_find(next.begin(), next.end(), std::greater_equal<>()) != next.end())
    return bad_input("expected ascending positions " + at);
  const auto first_new = std::lower_bound(next.begin(), next.end(), new_from);
  const bool known = (next.empty() || (next.front() >= 0 && next.back() <= t)) &&
                     std::includes(kept.begin(), kept.end(), next.begin(), first_new);
  if (known) return Done{};
  return bad_input("expected only positions that were kept before or are new, found an evicted one " + at);
}

Status check_sets(const RecordedLayers& recorded, const LayerPlace& place, std::int64_t sets,
                  std::int64_t tokens) {
  if (recorded.prompt != place.prompt)
    return differs("prompt tokens", place.prompt, static_cast<std::size_t>(recorded.prompt));
  const RecordedSets* const own = recorded.of(place.layer);
  if (own == nullptr) {
    std::string found;
    for (const RecordedSets& each : recorded.layers)
      found += (found.empty() ? " " : ", ") + std::to_string(*each.layer);
    return bad_input("expected sets of layer " + std::to_string(place.layer) + ", found sets of" +
                     (found.empty() ? " none" : found));
  }
  if (static_cast<std::int64_t>(own->after.size()) != tokens - place.prompt + 1)
    return differs("steps with the prompt's end", tokens - place.prompt + 1, own->after.size());
  for (const auto& step : own->after)
    if (static_cast<std::int64_t>(step.size()) != sets)
      return differs("sets at each step", sets, step.size());
  for (std::size_t s = 0; s < static_cast<std::size_t>(sets); ++s) {
    static const std::vector<std::int32_t> kNone;
    const std::vector<std::int32_t>* kept = &kNone;  // before the prompt ends all its tokens are new
    for (std::int64_t t = place.prompt - 1; t < tokens; ++t) {
      const auto& next = own->after[static_cast<std::size_t>(t - place.prompt + 1)][s];
      auto fits = follows(*kept, t < place.prompt ? 0 : t, next, t);
      if (!fits.ok()) return bad_input(fits.error().message + ", set " + std::to_string(s));
      kept = &next;
    }
  }
  return Done{};
}

}  // namespace

Status check_recorded(const RecordedLayers& recorded, const LayerPlace& place, std::int64_t sets,
                      std::int64_t tokens) {
  const Status fits = check_sets(recorded, place, sets, tokens);
  return fits.ok() ? fits : Status(Error(fits.error()).at_file(recorded.file).at_field(kField));
}

}  // namespace kvplan::attention
