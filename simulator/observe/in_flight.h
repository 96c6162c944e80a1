// What an observer knows of each request that is in flight: as much of it as there are such requests at once, however
// long the trace is. Where a request's value lies stands in a column of the whole run that observers of all replicas
// share, since a request is in one replica at a time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/core/request_column.h"

namespace kvplan::observe {

template <class T>
class InFlight {
 public:
  explicit InFlight(core::RequestPlaces places) : places_(std::move(places)) {}

  [[nodiscard]] bool has(RequestId r) const { return places_[r] >= 0; }
  /// REQUIRES for both: it has one.
  T& operator[](RequestId r) { return values_[static_cast<std::size_t>(places_[r])]; }
  const T& operator[](RequestId r) const { return values_[static_cast<std::size_t>(places_[r])]; }
  /// A new value. Others may move. REQUIRES: it has none.
  T& enter(RequestId r) {
    KVPLAN_CHECK(!has(r), r);
    if (unused_.empty()) {
      unused_.push_back(static_cast<std::int32_t>(values_.size()));
      values_.emplace_back();
    }
    const std::int32_t place = unused_.back();
    unused_.pop_back();
    places_[r] = place;
    return values_[static_cast<std::size_t>(place)] = T{};
  }
  /// REQUIRES: it has one.
  void leave(RequestId r) { unused_.push_back(std::exchange(places_[r], -1)); }
  /// As many values as there were at once.
  [[nodiscard]] std::size_t places() const { return values_.size(); }

 private:
  core::RequestPlaces places_;
  std::vector<T> values_;
  std::vector<std::int32_t> unused_;
};

}  // namespace kvplan::observe
