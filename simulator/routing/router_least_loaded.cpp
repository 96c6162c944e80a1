// Chooses the replica with the least load. Running and waiting requests change rarely, so their numbers are stored;
// tokens and blocks change with every step, so they are read when a request arrives.
#include "simulator/routing/least_of.h"
#include "simulator/routing/load_measure.h"
#include "simulator/routing/routers.h"

namespace kvplan::routing::router_least_loaded {
namespace {

class LeastRequests final : public core::Router {
 public:
  explicit LeastRequests(std::int64_t replicas) : requests_(replicas) {}
  std::int64_t route(RequestId /*request*/, const core::FleetView& /*fleet*/) override {
    return requests_.least();
  }
  void changed(std::int64_t replica, const core::FleetView& fleet) override {
    requests_.set(replica, measured(fleet.load(replica), LoadMeasure::kRequests));
  }

 private:
  LeastOf requests_;
};

class LeastLoaded final : public core::Router {
 public:
  explicit LeastLoaded(LoadMeasure by) : by_(by) {}
  std::int64_t route(RequestId /*request*/, const core::FleetView& fleet) override {
    return least_loaded(fleet, by_);
  }

 private:
  LoadMeasure by_;
};

constexpr std::array<Param, 1> kParams{kLoadMeasureParam};

std::unique_ptr<core::Router> make(const Choice& choice, const core::Workload& /*workload*/,
                                   std::int64_t replicas) {
  const LoadMeasure by = load_measure(choice);
  if (by == LoadMeasure::kRequests) return std::make_unique<LeastRequests>(replicas);
  return std::make_unique<LeastLoaded>(by);
}

}  // namespace

extern const RouterEntry kMember;
const RouterEntry kMember{
    .descriptor = {.family = "router",
                   .name = "least-loaded",
                   .summary = "Sends each request to the replica with the least load on arrival.",
                   .source = "kvplan; by=requests is what load balancers call least connections",
                   .params = kParams},
    .make = make};

}  // namespace kvplan::routing::router_least_loaded
