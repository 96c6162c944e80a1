// Measured durations of steps, and values between and beyond them.
//
// A measured step has a number of sequences, of prompt tokens (tokens computed beyond one for each sequence: none in a
// decode step) and of context tokens. Steps with the same sequences and prompt tokens form a curve over the context;
// curves with the same sequences form a row over the prompt tokens; rows are ordered by sequences.
//
//   context        linear between two measured steps: each token adds the same whole number of ticks, and each of
//                  the last tokens one tick more, so that the second step's duration is exact
//   prompt tokens  between two curves, and sequences between two rows: linear, rounded down to a tick. This is done at
//                  every context measured on one of these curves; between these contexts as on a curve
//   below the least measured value (of each of the three): the duration at the least value
//   beyond the greatest: on the line through the last two, or constant if that line falls or there is only one value
//
// So a measured step has exactly its duration; a duration never falls where the measured ones around it do not; and at
// fixed sequences and prompt tokens durations are pieces of arithmetic series in the context.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/base/units.h"
#include "simulator/latency/parts/tick_curve.h"

namespace kvplan::latency {

struct MeasuredStep {
  std::int64_t sequences{1};  ///< >= 1
  std::int64_t computed{1};   ///< tokens, >= sequences
  std::int64_t context{0};    ///< tokens computed before it, of all sequences together
  Ticks duration;
};

class StepTable {
 public:
  /// For several measurements of one step, the median is used; for two, the shorter. Errors: no steps; an impossible
  /// step.
  static Result<StepTable> make(std::vector<MeasuredStep> steps);

  /// Over contexts.
  using Piece = TickPiece;
  /// The piece that contains the context. REQUIRES: sequences >= 1, computed >= sequences, context >= 0.
  [[nodiscard]] Piece piece(std::int64_t sequences, std::int64_t computed, std::int64_t context) const;

 private:
  struct Curve {
    std::int64_t prompt;
    std::vector<TickKnot> knots;  ///< over contexts, ascending, at least one
  };
  struct Row {
    std::int64_t sequences;
    std::vector<Curve> curves;  ///< ascending by prompt, at least one
  };
  /// The value that is read from a curve: its duration at a context, or its slope after the last knot.
  enum class Ask : std::uint8_t { kTicks, kLastSlope };

  static std::int64_t ask(const Curve& curve, Ask what, std::int64_t context);
  static std::int64_t ask(const Row& row, Ask what, std::int64_t prompt, std::int64_t context);
  [[nodiscard]] std::int64_t ask(Ask what, std::int64_t sequences, std::int64_t prompt,
                                 std::int64_t context) const;

  std::vector<Row> rows_;  ///< ascending by sequences
};

}  // namespace kvplan::latency
