// What replicas and their allocators keep of every request of a trace, in one place for all replicas of a run: each
// request is in one replica. A thousand replicas with columns of their own would fill memory with what is never read.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/base/ids.h"

namespace kvplan::core {

/// A value of each request. Copies are the same column.
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

/// Where a request lies among those that somebody keeps something of; -1: nowhere.
using RequestPlaces = RequestColumn<std::int32_t>;

/// Of ledgers.
struct AccountColumns {
  explicit AccountColumns(std::size_t requests) : place(requests, -1), goal(requests, 0) {}
  RequestPlaces place;
  RequestColumn<std::int32_t>
      goal;  ///< tokens that are computed before it samples the next; 0: not admitted yet
};

struct RequestColumns {
  explicit RequestColumns(std::size_t requests)
      : goal(requests, 0), seen(requests, 0), place(requests, -1), account(requests) {}
  RequestColumn<std::int32_t> goal;  ///< of replicas: tokens to compute at the next admission
  RequestColumn<std::uint8_t> seen;  ///< of replicas: what has happened to it
  RequestPlaces place;               ///< of allocators
  AccountColumns account;
};

}  // namespace kvplan::core
