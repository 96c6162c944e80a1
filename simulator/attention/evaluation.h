// Evaluates a token policy on one layer of a recording: the kept tokens, what queries still see, and the saved memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/attention/recording.h"
#include "simulator/attention/replay.h"

namespace kvplan::attention {

struct EvaluationRequest {
  PolicyChoice policy;
  std::int64_t prompt{1};  ///< rows 0 .. prompt-1 are the prompt, later rows decode steps
  std::int32_t sequence{0};
  std::int32_t layer{0};
};

/// The class of tokens that were planted in the prompt because a later query needs them.
inline constexpr std::string_view kNeedleClass = "needle";

/// How much of a class of tokens is kept: the share of the class's tokens seen until then, after the prompt and after
/// every decode step, in each KV head. States without a token of the class do not count. If queries read only a part of
/// the kept tokens, that part counts (LayerReplay::reported).
struct ClassShare {
  std::string name{};
  double shares{0};        ///< sum of the shares
  std::int64_t states{0};  ///< number of states

  [[nodiscard]] std::optional<double> mean() const {
    return states == 0 ? std::nullopt : std::optional(shares / static_cast<double>(states));
  }
};

/// Bytes of one layer of one sequence: keys and values, and the policy's metadata.
struct EvaluationSummary {
  std::int64_t steps{0};
  std::int32_t group{1};
  std::int32_t kv_heads{1};
  std::int64_t bytes{0};                ///< after the last step, metadata included
  std::int64_t metadata_bytes{0};       ///< after the last step
  std::int64_t full_bytes{0};           ///< bytes of the full cache at that time
  std::int64_t peak_bytes{0};           ///< greatest while a token attends, the prompt included
  std::int64_t entries{0};              ///< cells (KV head, token) after the last step
  std::int64_t peak_entries{0};         ///< most tokens of one KV head at one time, the prompt included
  std::int64_t peak_decode_entries{0};  ///< the same while decoding: B + 1 for a budget B
  std::optional<double> mean_mass;      ///< mean over steps and query heads; absent without decode steps
  std::optional<double> min_mass;
  std::int64_t min_mass_t{-1};
  std::int32_t min_mass_head{-1};           ///< number of the query head in the model
  std::optional<double> mean_output_error;  ///< mean over steps and query heads; absent without values
  std::optional<double> max_output_error;
  std::optional<double> mean_overlap;    ///< mean overlap; set by a caller that measures it (overlap.h)
  std::vector<ClassShare> classes;       ///< [token class of the recording]; empty if it has none
  std::vector<std::string> assumptions;  ///< whole sentences
};

/// Called after the prompt (replay.tokens() == prompt) and after every decode step; an error ends the run.
using EvaluationObserver = std::function<Status(const LayerReplay& replay)>;

/// Runs the policy over the whole sequence. Errors: prompt outside 1 .. recorded tokens, a missing sequence or layer,
/// a group that does not divide, rows that cannot be read.
Result<EvaluationSummary> evaluate(const Recording& recording, const EvaluationRequest& request,
                                   const EvaluationObserver& observer);

/// The part of a recording on which several policies run.
struct LayerRun {
  std::int64_t prompt{1};
  std::int32_t sequence{0};
  std::int32_t layer{0};
  /// Called now and then before the prompt ends; if it returns true, the run ends as interrupted.
  StopAsked stop_asked{};
};
/// Called like an EvaluationObserver, with the replay of each policy; after a decode step `rows` is at its token.
using TogetherObserver = std::function<Status(std::span<const LayerReplay> replays, const LayerRows& rows)>;

/// Runs several policies at once: rows are read once for all of them, token by token. The summaries and errors are
/// those of `evaluate`; an error of one policy ends the run.
Result<std::vector<EvaluationSummary>> evaluate_together(const Recording& recording, const LayerRun& run,
                                                         std::span<const PolicyChoice> policies,
                                                         const TogetherObserver& observer);

}  // namespace kvplan::attention
