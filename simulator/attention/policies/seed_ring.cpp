// The ring buffer that kvplan's design notes call H2O: a sliding window in which tokens are written in chunks. Tokens
// wait outside the ring until their chunk is complete; then the chunk replaces the oldest tokens.
#include <algorithm>
#include <array>
#include <memory>

#include "simulator/attention/policy.h"

namespace kvplan::attention::seed_ring {
namespace {

class SeedRing final : public SetPolicy {
 public:
  SeedRing(std::int64_t window, std::int64_t chunk) : window_(window), chunk_(chunk) {}
  void evict_set(std::int32_t /*set*/, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const auto positions = residents.positions();
    const std::int64_t written = (std::int64_t{positions.back()} + 1) / chunk_ * chunk_;
    for (std::int32_t i = 0; positions[static_cast<std::size_t>(i)] < written - window_; ++i)
      drop.push_back(i);
  }

 private:
  std::int64_t window_;
  std::int64_t chunk_;
};

constexpr std::array kParams{tokens_param("window", "Tokens in the ring buffer", 1),
                             Param{.name = "chunk",
                                   .help = "Tokens written at a time, aligned to the start of the sequence",
                                   .unit = Unit::kTokens,
                                   .fallback = "32",
                                   .low = 1,
                                   .high = kMaxTokens},
                             kGroupParam, kAggParam, kPlacementParam};

core::KeptCount count_at(const Choice& choice, std::int64_t /*prompt*/, std::int64_t tokens) {
  const std::int64_t written = tokens - tokens % choice.integer("chunk");
  return {.budget = tokens - std::max<std::int64_t>(0, written - choice.integer("window"))};
}
PolicyTraits traits(const Choice& choice) {
  if (choice.integer("chunk") > 1) return {.alike = true, .count_at = count_at};
  const std::int64_t window = choice.integer("window");
  return {.interval = KeptInterval{.sink = 0, .recent = window}, .count = core::KeptCount{window}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<SeedRing>(input.choice.integer("window"), input.choice.integer("chunk"));
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "seed-ring",
         .summary = "A sliding window that writes the newest tokens and evicts the oldest ones in chunks",
         .source = "kvplan's design notes on KV caches, section 3 (there called H2O)",
         .params = kParams,
         .divergences =
             "The code in the design notes differs from its text, and kvplan follows the text. In the code, "
             "unwritten slots take part in the softmax as zero keys, a chunk does not wrap at the end of the "
             "ring, and keys of a chunk see later keys. With chunk=1 the policy is window."},
    .golden_name = "seed_ring",
    .budget = {.param = "window"},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::seed_ring
