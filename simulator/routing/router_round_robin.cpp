// Arrivals are dealt out in turn.
#include "simulator/routing/routers.h"

namespace kvplan::routing {
namespace {

class RoundRobin final : public Router {
 public:
  explicit RoundRobin(std::int64_t replicas) : replicas_(replicas) {}
  std::int64_t route(RequestId /*request*/) override { return arrivals_++ % replicas_; }

 private:
  std::int64_t replicas_;
  std::int64_t arrivals_{0};
};

std::unique_ptr<Router> make(const Choice& /*choice*/, const core::Workload& /*workload*/,
                             std::int64_t replicas) {
  return std::make_unique<RoundRobin>(replicas);
}

}  // namespace

extern const RouterEntry kRoundRobinRouter;
const RouterEntry kRoundRobinRouter{
    .descriptor = {.family = "router",
                   .name = "round-robin",
                   .summary = "The i-th arrival goes to replica i modulo the number of replicas.",
                   .source = "kvplan",
                   .params = {}},
    .make = make};

}  // namespace kvplan::routing
