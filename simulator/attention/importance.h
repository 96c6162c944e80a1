// The importance of a token, computed from the rows while it was resident, by one of three definitions; stored in the
// columns of its residents.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/score_rows.h"

namespace kvplan::attention {

inline constexpr std::array<std::string_view, 3> kImportances{"max", "mean", "decay"};
inline constexpr Param kImportanceParam{
    .name = "importance",
    .help =
        "How the weights that a token received become its importance: the largest weight, the mean, or a "
        "mean in which older rows decay",
    .kind = ParamKind::kText,
    .fallback = "max",
    .choices = kImportances};
inline constexpr Param kGammaParam{.name = "gamma",
                                   .help = "Decay: factor on a row's weights for each later row",
                                   .kind = ParamKind::kDecimal,
                                   .fallback = "0.9",
                                   .low = 0,
                                   .high = 1};
inline constexpr Param kProtectedRecentParam{.name = "recent",
                                             .help = "Newest tokens, never evicted",
                                             .unit = Unit::kTokens,
                                             .fallback = "1",
                                             .low = 0,
                                             .high = kMaxTokens};
inline constexpr Param kProtectedSinkParam{.name = "sink",
                                           .help = "First tokens of the sequence, never evicted",
                                           .unit = Unit::kTokens,
                                           .fallback = "0",
                                           .low = 0,
                                           .high = kMaxTokens};

class Importance {
 public:
  /// From a choice with kImportanceParam and kGammaParam.
  explicit Importance(const Choice& choice);
  [[nodiscard]] int columns() const { return kind_ == Kind::kMax ? 1 : 2; }
  [[nodiscard]] std::int64_t state_bytes() const { return std::int64_t{4} * columns(); }
  /// Updates all residents from the newest row: one weight for each.
  void update(Residents& residents, Weights weights) const;
  /// Importance of the residents [begin, end); valid until the next call.
  std::span<const double> of(const Residents& residents, std::int32_t begin, std::int32_t end);

 private:
  enum class Kind : std::uint8_t { kMax, kMean, kDecay } kind_;
  double gamma_;
  std::vector<double> values_;
};

/// Indices of residents that may be evicted.
struct Candidates {
  std::int32_t begin;
  std::int32_t end;  ///< not below begin
};
/// All residents except the first `sink` tokens of the sequence and the newest `recent` residents.
Candidates unprotected(const Residents& residents, std::int64_t sink, std::int64_t recent);

/// Number of tokens that kProtectedSinkParam and kProtectedRecentParam protect, if there are enough.
inline std::int64_t guarded_of(const Choice& choice) {
  return choice.integer("sink") + choice.integer("recent");
}

}  // namespace kvplan::attention
