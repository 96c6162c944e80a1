// The interface of the router family: which replica serves a request.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "simulator/core/replica.h"

namespace kvplan::core {

/// The replicas at the moment at which a request arrives.
class FleetView {
 public:
  FleetView(std::span<const std::unique_ptr<Replica>> replicas, SimTime now)
      : replicas_(replicas), now_(now) {}
  [[nodiscard]] std::int64_t replicas() const { return static_cast<std::int64_t>(replicas_.size()); }
  [[nodiscard]] Load load(std::int64_t replica) const { return at(replica).load(now_); }
  [[nodiscard]] std::int64_t cached_tokens(std::int64_t replica, RequestId request) const {
    return at(replica).cached_tokens(request);
  }

 private:
  [[nodiscard]] const Replica& at(std::int64_t i) const { return *replicas_[static_cast<std::size_t>(i)]; }

  std::span<const std::unique_ptr<Replica>> replicas_;
  SimTime now_;
};

/// Called once for each request when it arrives, in order of arrival. Deterministic.
class Router {
 public:
  virtual ~Router() = default;
  /// Returns the replica in [0, fleet.replicas()) that gets the request; that replica may still reject it.
  virtual std::int64_t route(RequestId request, const FleetView& fleet) = 0;
  /// A pass, a step end or a delivery may have changed which requests run or wait at the replica. (Tokens and
  /// blocks grow with every step: a router that needs them reads them when it is called.)
  virtual void changed(std::int64_t /*replica*/, const FleetView& /*fleet*/) {}
  /// False: routes depend only on the order of the requests, so replicas need not run together.
  [[nodiscard]] virtual bool reads_state() const { return true; }
  /// False: the router never asks what is cached.
  [[nodiscard]] virtual bool reads_contents() const { return false; }
};

}  // namespace kvplan::core
