// Whether all requests of a batch can run until they end, in the order in which they end. SGLang admits by this
// estimate without a prefix cache if no request ends early (managers/schedule_policy.py, add_one_req_ignore_eos).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/scheduling/sglang/request.h"

namespace kvplan::scheduling::sglang {

/// One object for each attempt to form a prefill batch.
class RunToEnds {
 public:
  /// Adds the candidate. The first candidate of an attempt also brings in the running requests and the batch so far.
  /// A later candidate goes where SGLang puts it: a request that would end last becomes the last but one.
  void add(const Request& candidate, std::span<Request* const> running, std::span<Request* const> batch);
  /// Do `free_tokens` suffice if each request takes one token per step until it ends, and then frees all it has?
  [[nodiscard]] bool enough(std::int64_t free_tokens) const;

 private:
  struct End {
    std::int64_t left_tokens;      // tokens until it ends
    std::int64_t occupied_tokens;  // tokens that it occupies now
  };
  void append(const Request& request);

  bool begun_{false};
  std::vector<End> ends_;
};

}  // namespace kvplan::scheduling::sglang
