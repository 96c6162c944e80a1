// Columns with one value for each request of the trace, shared by all replicas of a run: each request is in one
// replica. A thousand replicas with columns of their own would fill memory with values that are never read.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/base/ids.h"

namespace kvplan::core {

/// One value for each request. Copies share the values.
template <class T>
class RequestColumn {
 public:
  RequestColumn(std::size_t requests, T value)
      : values_(std::make_shared<std::vector<T>>(requests, value)), data_(values_->data()) {}
  T& operator[](RequestId request) { return data_[index(request)]; }
  const T& operator[](RequestId request) const { return data_[index(request)]; }

 private:
  std::shared_ptr<std::vector<T>> values_;
  T* data_;
};

/// For each request, its index in some account of the requests that it tracks; -1: not tracked.
using RequestPlaces = RequestColumn<std::int32_t>;

/// Columns of ledgers.
struct AccountColumns {
  explicit AccountColumns(std::size_t requests) : place(requests, -1), goal(requests, 0) {}
  RequestPlaces place;
  RequestColumn<std::int32_t>
      goal;  ///< tokens that it computes before it samples the next one; 0: not admitted yet
};

struct RequestColumns {
  explicit RequestColumns(std::size_t requests)
      : goal(requests, 0), seen(requests, 0), place(requests, -1), account(requests) {}
  RequestColumn<std::int32_t> goal;  ///< tokens to compute at the next admission
  RequestColumn<std::uint8_t> seen;  ///< state of the request in its replica
  RequestPlaces place;               ///< used by allocators
  AccountColumns account;
};

}  // namespace kvplan::core
