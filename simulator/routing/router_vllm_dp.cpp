// vLLM's own balancing over data-parallel engines: the lowest 4 x waiting + running (vllm-project/vllm v0.15.1,
// vllm/v1/engine/core_client.py, DPLBAsyncMPClient.get_core_engine_for_request). In vLLM the counts are those that a
// coordinator publishes every 100 ms, corrected by what the client has sent since; kvplan uses the current counts.
#include "simulator/routing/least_of.h"
#include "simulator/routing/routers.h"

namespace kvplan::routing::router_vllm_dp {
namespace {

class VllmDp final : public core::Router {
 public:
  explicit VllmDp(std::int64_t replicas) : scores_(replicas) {}
  std::int64_t route(RequestId /*request*/, const core::FleetView& /*fleet*/) override {
    return scores_.least();
  }
  void changed(std::int64_t replica, const core::FleetView& fleet) override {
    const core::Load load = fleet.load(replica);
    scores_.set(replica, 4 * load.waiting + load.running);
  }

 private:
  LeastOf scores_;
};

std::unique_ptr<core::Router> make(const Choice& /*choice*/, const core::Workload& /*workload*/,
                                   std::int64_t replicas) {
  return std::make_unique<VllmDp>(replicas);
}

}  // namespace

extern const RouterEntry kMember;
const RouterEntry kMember{
    .descriptor = {.family = "router",
                   .name = "vllm-dp",
                   .summary = "Sends each request to the replica with the least 4 x waiting + running "
                              "requests, as vLLM balances its data-parallel engines.",
                   .source = "vllm-project/vllm v0.15.1 (1892993): vllm/v1/engine/core_client.py",
                   .params = {}},
    .make = make};

}  // namespace kvplan::routing::router_vllm_dp
