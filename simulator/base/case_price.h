// The estimated computing time of one case of a sweep on one core. Sweeps use it to give all shards about equal work
// (sweep/README.md has the measurements).
#pragma once

#include <cstdint>

namespace kvplan {

struct CasePrice {
  std::int64_t fixed_ns{0};    ///< for the case, whatever it contains
  std::int64_t request_ns{0};  ///< for each request
  std::int64_t block_ns{0};    ///< for each block of a request's tokens
};

}  // namespace kvplan
