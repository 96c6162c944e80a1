// Keeps the sets in a file: sets that another program chose, measured in the same way as those of all policies.
#include <algorithm>
#include <memory>

#include "simulator/attention/policy.h"
#include "simulator/attention/recorded_sets.h"

namespace kvplan::attention::recorded {
namespace {

class Recorded final : public SetPolicy {
 public:
  Recorded(const LayerPlace& place, const RecordedSets& recorded)
      : prompt_(place.prompt), recorded_(recorded) {}

  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const auto positions = residents.positions();
    const auto step = static_cast<std::size_t>(positions.back() + 1 - prompt_);
    const auto& stays = recorded_.after[step][static_cast<std::size_t>(set)];
    for (std::size_t i = 0; i < positions.size(); ++i)
      if (!std::binary_search(stays.begin(), stays.end(), positions[i]))
        drop.push_back(static_cast<std::int32_t>(i));
  }

 private:
  std::int64_t prompt_;
  const RecordedSets& recorded_;
};

constexpr std::array<std::string_view, 2> kScopes{"head", "layer"};
constexpr std::array kParams{
    Param{.name = "file",
          .help = "JSON file of retained token sets, with the keys that `kvplan evict --json` prints "
                  "(prefill_len, after_prefill, steps), for one layer or for all",
          .kind = ParamKind::kText,
          .fallback = {},
          .names_file = true},
    Param{.name = "scope",
          .help = "Whether the file has one set per KV head or one per layer",
          .kind = ParamKind::kText,
          .fallback = "head",
          .choices = kScopes},
    kGroupParam, kAggParam, kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  return {.scope = choice.text("scope") == "layer" ? Scope::kLayer : Scope::kKvHead, .recorded = true};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  const RecordedSets* const sets =
      input.recorded == nullptr ? nullptr : input.recorded->of(input.place.layer);
  KVPLAN_CHECK(sets != nullptr, input.place.layer);
  return std::make_unique<Recorded>(input.place, *sets);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "recorded",
                   .summary = "Keeps the token sets in a file, which another program selected",
                   .source = "kvplan",
                   .params = kParams},
    .golden_name = "recorded",
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::recorded
