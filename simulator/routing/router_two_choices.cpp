// The least loaded of a few replicas, drawn anew for each request: nearly as even as asking all of them. Every arrival
// draws, whatever the loads are, so that draws follow from the seed and the order of arrivals alone.
#include <vector>

#include "simulator/base/random.h"
#include "simulator/routing/load_measure.h"
#include "simulator/routing/routers.h"

namespace kvplan::routing::router_two_choices {
namespace {

class TwoChoices final : public core::Router {
 public:
  TwoChoices(std::int64_t choices, LoadMeasure by, std::uint64_t seed)
      : choices_(choices), by_(by), random_(seed, "router two-choices") {}

  std::int64_t route(RequestId /*request*/, const core::FleetView& fleet) override {
    if (choices_ >= fleet.replicas()) return least_loaded(fleet, by_);
    draw(fleet.replicas());
    std::int64_t best = drawn_.front();
    std::int64_t least = INT64_MAX;
    for (const std::int64_t replica : drawn_) {
      const std::int64_t load = measured(fleet.load(replica), by_);
      if (load >= least) continue;
      best = replica;
      least = load;
    }
    return best;
  }
  /// With only one choice, the drawn replica serves, whatever its load.
  [[nodiscard]] bool reads_state() const override { return choices_ > 1; }

 private:
  /// Draws different replicas, in order of number. Each draw is an index among those not drawn yet.
  void draw(std::int64_t replicas) {
    drawn_.clear();
    for (std::int64_t i = 0; i < choices_; ++i) {
      std::int64_t replica = random_.between(0, replicas - 1 - i);
      auto place = drawn_.begin();
      for (; place != drawn_.end() && *place <= replica; ++place) ++replica;
      drawn_.insert(place, replica);
    }
  }

  std::int64_t choices_;
  LoadMeasure by_;
  Random random_;
  std::vector<std::int64_t> drawn_;  // replicas drawn for the latest request
};

constexpr std::array<Param, 3> kParams{{
    {.name = "choices",
     .help = "Number of different random candidates per request; all replicas are candidates if there are no "
             "more",
     .kind = ParamKind::kInteger,
     .fallback = "2",
     .low = 1,
     .high = 16},
    kLoadMeasureParam,
    {.name = "seed",
     .help = "Seed of the random draws",
     .kind = ParamKind::kInteger,
     .fallback = "0",
     .low = 0,
     .high = 9007199254740992},
}};

std::unique_ptr<core::Router> make(const Choice& choice, const core::Workload& /*workload*/,
                                   std::int64_t /*replicas*/) {
  return std::make_unique<TwoChoices>(choice.integer("choices"), load_measure(choice),
                                      static_cast<std::uint64_t>(choice.integer("seed")));
}

}  // namespace

extern const RouterEntry kMember;
const RouterEntry kMember{
    .descriptor = {.family = "router",
                   .name = "two-choices",
                   .summary = "Sends each request to the least loaded of a few random replicas.",
                   .source =
                       "Mitzenmacher 2001 (IEEE Transactions on Parallel and Distributed Systems 12(10))",
                   .params = kParams,
                   .divergences =
                       "In the paper, candidates are drawn independently, so a replica can be drawn twice. "
                       "In kvplan, as in SGLang's router (power_of_two), they differ. Among equally loaded "
                       "candidates kvplan takes the lowest index, SGLang the one drawn first; in a lightly "
                       "loaded fleet, kvplan therefore sends more requests to low indexes."},
    .make = make};

}  // namespace kvplan::routing::router_two_choices
