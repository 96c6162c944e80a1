// Sends a request to the replica that has most of its prompt in its cache, unless the load is out of balance. The rule
// for balance, with its two thresholds and their values, is that of the cache-aware policy of SGLang's router
// (sgl-project/sglang, sgl-router; vLLM's router has the same): the busiest replica has more than `balance_abs`
// requests more than the idlest, and more than `balance_rel` times as many. That router estimates the caches from the
// prompts that it has sent; this one asks the replicas, so it knows what they have evicted.
#include <algorithm>

#include "simulator/routing/load_measure.h"
#include "simulator/routing/routers.h"

namespace kvplan::routing::router_prefix_affine {
namespace {

class PrefixAffine final : public core::Router {
 public:
  PrefixAffine(std::int64_t balance_abs, double balance_rel)
      : balance_abs_(balance_abs), balance_rel_(balance_rel) {}

  std::int64_t route(RequestId request, const core::FleetView& fleet) override {
    std::int64_t least = INT64_MAX, most = 0;
    std::int64_t idlest = 0;
    Candidate best{-1, 0, 0};
    for (std::int64_t i = 0; i < fleet.replicas(); ++i) {
      const std::int64_t load = measured(fleet.load(i), LoadMeasure::kRequests);
      most = std::max(most, load);
      if (load < least) {
        least = load;
        idlest = i;
      }
      const Candidate candidate{fleet.cached_tokens(i, request), load, i};
      if (candidate.better_than(best)) best = candidate;
    }
    const bool unbalanced =
        most - least > balance_abs_ && static_cast<double>(most) > balance_rel_ * static_cast<double>(least);
    return unbalanced ? idlest : best.replica;
  }
  [[nodiscard]] bool reads_contents() const override { return true; }

 private:
  struct Candidate {
    std::int64_t cached_tokens, load, replica;
    [[nodiscard]] bool better_than(const Candidate& other) const {
      return cached_tokens != other.cached_tokens ? cached_tokens > other.cached_tokens : load < other.load;
    }
  };
  std::int64_t balance_abs_;
  double balance_rel_;
};

constexpr std::array<Param, 2> kParams{{
    {.name = "balance_abs",
     .help = "Largest difference in requests between the busiest and the idlest replica; above it, load "
             "alone may decide",
     .kind = ParamKind::kInteger,
     .unit = Unit::kRequests,
     .fallback = "64",
     .low = 0,
     .high = 1 << 30},
    {.name = "balance_rel",
     .help = "Largest ratio of requests between the busiest and the idlest replica; load alone decides if "
             "difference and ratio are exceeded",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kRatio,
     .fallback = "1.5",
     .low = 1,
     .high = 1e9},
}};

std::unique_ptr<core::Router> make(const Choice& choice, const core::Workload& /*workload*/,
                                   std::int64_t /*replicas*/) {
  return std::make_unique<PrefixAffine>(choice.integer("balance_abs"), choice.decimal("balance_rel"));
}

}  // namespace

extern const RouterEntry kMember;
const RouterEntry kMember{
    .descriptor = {.family = "router",
                   .name = "prefix-affine",
                   .summary = "Sends each request to the replica with the longest cached part of its prompt "
                              "(ties: the least loaded), unless the fleet is out of balance.",
                   .source = "sgl-project/sglang: sgl-router, cache_aware (its thresholds of balance)",
                   .params = kParams},
    .make = make};

}  // namespace kvplan::routing::router_prefix_affine
