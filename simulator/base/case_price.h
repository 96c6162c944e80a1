// What a case of a sweep costs in time on one core. Sweeps deal cases to shards by it (sweep/README.md has the
// measurements).
#pragma once

#include <cstdint>

namespace kvplan {

struct CasePrice {
  std::int64_t fixed_ns{0};    ///< of the case
  std::int64_t request_ns{0};  ///< of each request
  std::int64_t block_ns{0};    ///< of each block of a request's tokens
};

}  // namespace kvplan
