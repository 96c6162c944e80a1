// Whether all requests of a batch can run to their ends, in the order in which they end: the estimate by which SGLang
// admits where nothing is cached and nobody ends early (managers/schedule_policy.py, add_one_req_ignore_eos).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/scheduling/sglang/request.h"

namespace kvplan::scheduling::sglang {

/// One for each attempt to form a prefill batch.
class RunToEnds {
 public:
  /// Counts the candidate. The first one of an attempt brings along those who run and the batch so far; a later one
  /// takes the place that SGLang gives it, which for the one that ends last is the last but one.
  void add(const Request& candidate, std::span<Request* const> running, std::span<Request* const> batch);
  /// With so many tokens free: each takes a token a step until it ends, then gives back what it has.
  [[nodiscard]] bool enough(std::int64_t free_tokens) const;

 private:
  struct End {
    std::int64_t left_tokens;      // until it ends
    std::int64_t occupied_tokens;  // now
  };
  void append(const Request& request);

  bool begun_{false};
  std::vector<End> ends_;
};

}  // namespace kvplan::scheduling::sglang
