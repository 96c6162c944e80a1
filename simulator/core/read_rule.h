// What a decode step reads of a request that keeps everything, where layers read a part (the family "reader").
#pragma once

#include <cstdint>

namespace kvplan::core {

/// A request counts with the tokens that a decode step's query sees: those that it holds, and the step's own. Prompts
/// attend everything. Which layers, or heads of them, read a part, and what metadata of a token takes, the latency
/// model knows.
struct ReadRule {
  static constexpr std::int64_t kAll = INT64_MAX;
  std::int64_t fetched{kAll};        ///< of more tokens than these only as many are fetched, >= 1
  std::int64_t ranked_beyond{kAll};  ///< where there are more than these, metadata of all of them is read

  [[nodiscard]] bool part() const { return fetched != kAll || ranked_beyond != kAll; }
  friend bool operator==(const ReadRule&, const ReadRule&) = default;
};

}  // namespace kvplan::core
