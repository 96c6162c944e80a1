// Durations in whole ticks over whole tokens, on straight lines between knots: from one knot to the next each token
// adds the same whole number of ticks, and each of the last tokens one tick more, so that the second knot's duration
// is exact. So a curve consists of pieces on which every token adds the same.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "simulator/base/units.h"

namespace kvplan::latency {

struct TickKnot {
  std::int64_t at{0};
  std::int64_t ticks{0};
};

/// Tokens [begin, end]; each token adds `slope` ticks to `at_begin`.
struct TickPiece {
  std::int64_t begin{0}, end{0};
  std::int64_t at_begin{0};  ///< ticks
  std::int64_t slope{0};     ///< ticks; negative only if durations fall

  /// REQUIRES: begin <= at <= end.
  [[nodiscard]] Wide ticks(std::int64_t at) const { return at_begin + Wide{slope} * (at - begin); }
};

/// Marks a piece without end.
inline constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

/// a / b rounded down. REQUIRES: b > 0, and the quotient fits.
std::int64_t floor_div(Wide a, std::int64_t b);

/// The piece around `at` between two knots. REQUIRES: low.at < high.at, low.at <= at <= high.at.
TickPiece piece_between(const TickKnot& low, const TickKnot& high, std::int64_t at);

class TickCurve {
 public:
  /// `slope`: ticks of each token behind the last knot. REQUIRES: at least one knot, the first at 0, ascending.
  TickCurve(std::vector<TickKnot> knots, std::int64_t slope);

  /// The piece that contains `at`; exact at a knot. REQUIRES: at >= 0.
  [[nodiscard]] TickPiece piece(std::int64_t at) const;

 private:
  std::vector<TickKnot> knots_;
  std::int64_t slope_;
};

}  // namespace kvplan::latency
