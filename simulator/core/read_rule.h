// What a decode step reads of a request if layers use sparse attention: all tokens are kept, but only a part is read.
#pragma once

#include <cstdint>

namespace kvplan::core {

/// The rule for one request. It depends on the tokens that the query of a decode step sees: the tokens that the request
/// holds, and the step's own. Prompts attend to everything. The latency model knows which layers or heads read only a
/// part, and how large a token's metadata is.
struct ReadRule {
  static constexpr std::int64_t kAll = INT64_MAX;
  /// The query fetches at most this many tokens, even if more are visible; >= 1
  std::int64_t fetched{kAll};
  /// If more tokens than this are visible, the metadata of all of them is read
  std::int64_t ranked_beyond{kAll};

  [[nodiscard]] bool part() const { return fetched != kAll || ranked_beyond != kAll; }
  friend bool operator==(const ReadRule&, const ReadRule&) = default;
};

}  // namespace kvplan::core
