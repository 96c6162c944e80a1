// Drops random tokens: the baseline that a policy must beat. Each KV head has its own stream, which repeats.
#include <algorithm>
#include <memory>

#include "simulator/attention/importance.h"
#include "simulator/attention/policy.h"

namespace kvplan::attention::random {
namespace {

constexpr std::uint64_t kGoldenGamma = 0x9E3779B97F4A7C15ULL;

std::uint64_t split_mix(std::uint64_t& state) {
  std::uint64_t z = state += kGoldenGamma;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

class RandomPolicy final : public SetPolicy {
 public:
  explicit RandomPolicy(const LayerInput& input)
      : budget_(input.choice.integer("budget")),
        recent_(input.choice.integer("recent")),
        sink_(input.choice.integer("sink")) {
    const std::int64_t given = input.choice.integer("layer");
    const auto layer = static_cast<std::uint64_t>(given >= 0 ? given : input.place.layer);
    const auto seed = static_cast<std::uint64_t>(input.choice.integer("seed"));
    for (std::int32_t s = 0; s < input.place.kv_heads(); ++s) {
      const auto head = static_cast<std::uint64_t>(input.place.head_number(s));
      streams_.push_back(seed + kGoldenGamma * (1 + (layer << 20) + head));
    }
  }

  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) override {
    std::int64_t excess = residents.size() - budget_;
    if (excess <= 0) return;
    const Candidates may = unprotected(residents, sink_, recent_);
    candidates_.clear();
    for (std::int32_t i = may.begin; i < may.end; ++i) candidates_.push_back(i);
    for (; excess > 0 && !candidates_.empty(); --excess) {
      const double u =
          static_cast<double>(split_mix(streams_[static_cast<std::size_t>(set)]) >> 11) * 0x1p-53;
      const auto at = static_cast<std::ptrdiff_t>(u * static_cast<double>(candidates_.size()));
      drop.push_back(candidates_[static_cast<std::size_t>(at)]);
      candidates_.erase(candidates_.begin() + at);
    }
    std::sort(drop.begin(), drop.end());
  }

 private:
  std::int64_t budget_;
  std::int64_t recent_;
  std::int64_t sink_;
  std::vector<std::uint64_t> streams_;  ///< [KV head]
  std::vector<std::int32_t> candidates_;
};

constexpr std::array kParams{
    tokens_param("budget", "Tokens kept", 1),
    Param{.name = "seed",
          .help = "Seed of the random draws",
          .fallback = "0",
          .low = 0,
          .high = 9007199254740992.0},
    Param{.name = "layer",
          .help = "Number of the layer that gives the random stream; -1: each layer uses its own stream",
          .fallback = "-1",
          .low = -1,
          .high = 65535},
    kProtectedRecentParam,
    kProtectedSinkParam,
    kGroupParam,
    kAggParam,
    kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  const std::int64_t kept =
      std::max(choice.integer("budget"), choice.integer("recent") + choice.integer("sink"));
  return {.budget = kept, .count = core::KeptCount{kept}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<RandomPolicy>(input);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "random",
                   .summary = "Evicts random tokens: a lower baseline for every other policy",
                   .source = "kvplan (SplitMix64, one stream per layer and KV head)",
                   .params = kParams,
                   .divergences =
                       "kvpress draws one number per head and token, once at the end of the prompt."},
    .golden_name = "random",
    .budget = {.param = "budget"},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::random
