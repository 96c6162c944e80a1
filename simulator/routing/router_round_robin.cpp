// Sends arrivals to the replicas in turn.
#include "simulator/routing/routers.h"

namespace kvplan::routing::router_round_robin {
namespace {

class RoundRobin final : public core::Router {
 public:
  std::int64_t route(RequestId /*request*/, const core::FleetView& fleet) override {
    return arrivals_++ % fleet.replicas();
  }
  [[nodiscard]] bool reads_state() const override { return false; }

 private:
  std::int64_t arrivals_{0};
};

std::unique_ptr<core::Router> make(const Choice& /*choice*/, const core::Workload& /*workload*/,
                                   std::int64_t /*replicas*/) {
  return std::make_unique<RoundRobin>();
}

}  // namespace

extern const RouterEntry kMember;
const RouterEntry kMember{
    .descriptor = {.family = "router",
                   .name = "round-robin",
                   .summary = "Sends the i-th arrival to replica i modulo the number of replicas.",
                   .source = "kvplan",
                   .params = {}},
    .make = make};

}  // namespace kvplan::routing::router_round_robin
