// One head of a recording, and the tokens that up to four token policies keep of it, step by step. The numbers are
// those of `kvplan evict`.
#pragma once

#include <memory>
#include <vector>

#include "gui/views/table_model.h"
#include "gui/worker/document.h"
#include "simulator/attention/evaluation.h"
#include "simulator/core/engine.h"

namespace kvplan::gui {

struct RecordingDocument final : Document {
  std::shared_ptr<const attention::Recording> recording;
};

/// A DocumentReader: .kva files.
std::optional<Result<DocumentPtr>> read_recording(std::string_view head, const std::string& path);

inline constexpr std::size_t kMostPolicies = 4;

/// The choices of the view.
struct AttentionChoice {
  std::int32_t sequence{0}, layer{0};
  std::int32_t head{0};    ///< query head, among the recorded ones
  std::int64_t prompt{1};  ///< tokens
  std::vector<std::string> policies;
  friend bool operator==(const AttentionChoice&, const AttentionChoice&) = default;
};

/// The tokens that a policy keeps for the head.
struct PolicyTrack {
  std::string name;
  attention::EvaluationSummary summary;
  /// The kept positions, ascending, by step; the first step is the end of the prompt.
  std::vector<std::vector<std::int32_t>> kept;
  std::vector<double> mass;   ///< of the head, by decode step; the first is the step after the prompt's end
  std::vector<double> error;  ///< likewise; empty if the recording has no values
};

struct AttentionRun {
  AttentionChoice choice;
  std::int64_t tokens{0};
  /// Weights of the head, row by row (queries): their maxima in at most kMostCells x kMostCells cells.
  std::vector<float> cells;
  int side{0};  ///< cells in a row
  int tokens_in_cell{1};
  std::vector<PolicyTrack> tracks;
  /// For the strips: the row of weights of the prompt's last token and of each later token.
  std::vector<std::vector<float>> rows;

  /// Number of steps: one for the end of the prompt, one for each token after it.
  [[nodiscard]] std::int64_t steps() const { return tokens - choice.prompt + 1; }
};
inline constexpr int kMostCells = 1024;
using AttentionRunPtr = std::shared_ptr<const AttentionRun>;

/// Errors: those of attention::evaluate_together; policies that cannot be parsed, more than kMostPolicies.
Result<AttentionRunPtr> run_attention(const attention::Recording& recording, const AttentionChoice& choice,
                                      core::RunControl& control);

/// Splits "a:x=1; b" at semicolons.
std::vector<std::string> split_policies(std::string_view text);
/// Four policies that keep a quarter of the tokens.
std::string usual_policies(std::int64_t tokens);

/// A row for each policy at a step.
TableContent attention_table(const AttentionRunPtr& run, std::int64_t step);

}  // namespace kvplan::gui
