// Durations of steps that were measured, and what is taken for those between and beyond them.
//
// A measured step has a number of sequences, of prompt tokens (tokens computed beyond one for each sequence: none in a
// decode step) and of context tokens. Steps with the same sequences and prompt tokens are one curve over the context;
// curves with the same sequences are one row over the prompt tokens; rows lie over the sequences.
//
//   context        linear between two measured steps: whole ticks for each token, and one tick more for each of
//                  the last tokens before the second one, as many as make its duration come out exactly
//   prompt tokens  between the two curves beside, and sequences between the two rows beside: linear, rounded down to
//                  a tick. That is done at every context that is measured on one of these curves; between these
//                  contexts as on a curve
//   below the least that was measured (of each of the three): as at the least
//   beyond the greatest: along the line through the last two, or level where it falls or there is but one
//
// So a measured step has its duration exactly; a duration never falls where those measured around it do not; and
// at fixed sequences and prompt tokens durations are pieces of arithmetic series in the context.
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
  /// Of several alike the middle one counts, of two the shorter. Errors: no steps; one that cannot be.
  static Result<StepTable> make(std::vector<MeasuredStep> steps);

  /// Over contexts.
  using Piece = TickPiece;
  /// The piece around a context. REQUIRES: sequences >= 1, computed >= sequences, context >= 0.
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
  /// What is asked of one curve: its duration at a context, or the slope behind its last knot.
  enum class Ask : std::uint8_t { kTicks, kLastSlope };

  static std::int64_t ask(const Curve& curve, Ask what, std::int64_t context);
  static std::int64_t ask(const Row& row, Ask what, std::int64_t prompt, std::int64_t context);
  [[nodiscard]] std::int64_t ask(Ask what, std::int64_t sequences, std::int64_t prompt,
                                 std::int64_t context) const;

  std::vector<Row> rows_;  ///< ascending by sequences
};

}  // namespace kvplan::latency
