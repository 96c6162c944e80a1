// An observer's values, one for each request in flight. Memory grows with the number of requests in flight at once, not
// with the trace. The index of a request's value is in a column of the whole run, which observers of all replicas
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
  /// The value of the request. REQUIRES for both: it has one.
  T& operator[](RequestId r) { return values_[static_cast<std::size_t>(places_[r])]; }
  const T& operator[](RequestId r) const { return values_[static_cast<std::size_t>(places_[r])]; }
  /// Adds a value for the request; references to others become invalid. REQUIRES: it has none.
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
  /// Removes the request's value. REQUIRES: it has one.
  void leave(RequestId r) { unused_.push_back(std::exchange(places_[r], -1)); }
  /// The largest number of values at once.
  [[nodiscard]] std::size_t places() const { return values_.size(); }

 private:
  core::RequestPlaces places_;
  std::vector<T> values_;
  std::vector<std::int32_t> unused_;
};

}  // namespace kvplan::observe
