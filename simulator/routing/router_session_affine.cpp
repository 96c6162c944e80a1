// Sends all requests of a session to the replica of its first request, which has the conversation in its cache.
#include <unordered_map>

#include "simulator/routing/load_measure.h"
#include "simulator/routing/routers.h"

namespace kvplan::routing::router_least_loaded {
extern const RouterEntry kMember;
}  // namespace kvplan::routing::router_least_loaded

namespace kvplan::routing::router_session_affine {
namespace {

class SessionAffine final : public core::Router {
 public:
  SessionAffine(std::unique_ptr<core::Router> first, const core::Workload& workload)
      : first_(std::move(first)), workload_(workload) {}
  std::int64_t route(RequestId request, const core::FleetView& fleet) override {
    const std::int32_t session = workload_.session_of(request);
    if (session < 0) return first_->route(request, fleet);
    const auto [known, fresh] = replica_of_.try_emplace(session, 0);
    if (fresh) known->second = first_->route(request, fleet);
    return known->second;
  }
  void changed(std::int64_t replica, const core::FleetView& fleet) override {
    first_->changed(replica, fleet);
  }

 private:
  std::unique_ptr<core::Router> first_;
  const core::Workload& workload_;
  std::unordered_map<std::int32_t, std::int64_t> replica_of_;  // by session
};

constexpr std::array<Param, 1> kParams{kLoadMeasureParam};

std::unique_ptr<core::Router> make(const Choice& choice, const core::Workload& workload,
                                   std::int64_t replicas) {
  const std::pair<std::string, std::string> by{kLoadMeasureParam.name, choice.text(kLoadMeasureParam.name)};
  const Choice first = make_choice(router_least_loaded::kMember.descriptor.name, std::span(&by, 1), "router",
                                   router_descriptors())
                           .value();
  return std::make_unique<SessionAffine>(router_entry(first).make(first, workload, replicas), workload);
}

}  // namespace

extern const RouterEntry kMember;
const RouterEntry kMember{
    .descriptor = {.family = "router",
                   .name = "session-affine",
                   .summary = "Sends the first request of a session to the least loaded replica, and its "
                              "other requests to the same replica.",
                   .source = "kvplan; what load balancers call sticky sessions",
                   .params = kParams},
    .make = make};

}  // namespace kvplan::routing::router_session_affine
