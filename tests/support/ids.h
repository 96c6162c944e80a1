// Ids in tests.
#pragma once

#include "simulator/base/ids.h"

namespace kvplan::test {

/// 3_r is the request with the number 3.
constexpr RequestId operator""_r(unsigned long long place) {
  return id_at<RequestId>(place);
}

/// Lets code that prints treat numbers and ids in the same way.
template <class T>
constexpr auto plain(T value) {
  if constexpr (Id<T>) {
    return number(value);
  } else {
    return value;
  }
}

}  // namespace kvplan::test
