// What a decode step reads of a request where layers use sparse attention: everything is kept, a part is read.
#pragma once

#include <cstdint>

namespace kvplan::core {

/// The rule for one request, from the tokens that the query of a decode step sees: those that the request holds,
/// and the step's own. Prompts attend to everything. The latency model knows which layers or heads read a part
/// and how large a token's metadata is.
struct ReadRule {
  static constexpr std::int64_t kAll = INT64_MAX;
  /// Most tokens that are fetched; with more visible tokens, only this many are, >= 1
  std::int64_t fetched{kAll};
  /// With more visible tokens than this, the metadata of all of them is read
  std::int64_t ranked_beyond{kAll};

  [[nodiscard]] bool part() const { return fetched != kAll || ranked_beyond != kAll; }
  friend bool operator==(const ReadRule&, const ReadRule&) = default;
};

}  // namespace kvplan::core
