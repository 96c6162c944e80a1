// Runs a format over recorded queries, keys and values of one layer: bytes after every step, errors of the decoded
// numbers, and errors of the attention output.
//
// The step model, for tokens of the prompt P and t = P, P + 1, ...:
//   prompt   its tokens are appended in one call (those that the token policy keeps), then the prompt ends
//   token t  1 append; 2 attend: the query of t reads all stored tokens, t included; 3 step: the format encodes,
//            then the token policy drops tokens (a policy that makes room drops them before 1)
// Errors are relative to a cache that keeps everything exactly; its outputs are computed once for each query.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "simulator/attention/catalogue.h"
#include "simulator/attention/recording.h"
#include "simulator/attention/tensor_rows.h"
#include "simulator/formats/formats.h"

namespace kvplan::formats {

/// An element for which the result shows the stored number.
struct Probe {
  Side side{Side::kKeys};
  std::int32_t head{0};  ///< KV head
  std::int64_t position{0};
  std::int32_t channel{0};
};

struct EvaluationRequest {
  FormatChoice format{};  ///< format of the layer (of_layer)
  std::optional<attention::PolicyChoice> evict{};
  std::int64_t prompt{1};
  std::int32_t sequence{0};
  std::int32_t layer{0};
  std::vector<Probe> probes{};
  /// Called while a policy with foresight looks ahead; if it returns true, evaluation ends with interrupted_error()
  attention::StopAsked stop_asked{};
};

struct StepResult {
  std::int64_t t{0};
  LayerBytes bytes;                   ///< after the step
  std::int64_t total_at_attend{0};    ///< bytes while its query reads
  std::vector<double> output_error;   ///< [query head] |o - o'| / |o|
  std::vector<double> attended_mass;  ///< [query head] the full cache's weights, summed over stored tokens
  std::vector<double> logit_error;    ///< [query head] greatest |q (k - k')| * scale over stored tokens
};

/// The stored keys or values of one KV head, compared with the recording.
struct HeadState {
  std::int64_t tokens{0};
  std::int64_t first_position{-1};             ///< -1: no tokens
  std::int64_t encoded{0};                     ///< tokens that have codes
  std::optional<std::uint64_t> stored_digest;  ///< FNV-1a 64 of the decoded numbers; for exact formats
  std::optional<std::uint64_t> codes_digest;   ///< FNV-1a 64 of the codes
  double max_abs_error{0};
  double mean_abs_error{0};
  double relative_frobenius{0};
};

struct ProbeResult {
  Probe probe;
  double recorded{0};
  double stored{0};
  Coded coded;
};

struct Checkpoint {
  std::int64_t tokens{0};                          ///< tokens appended until then
  std::array<std::vector<HeadState>, 2> heads;     ///< [side][KV head]
  std::vector<std::optional<ProbeResult>> probes;  ///< empty if the token is not stored
};

struct EvaluationSummary {
  std::int64_t final_bytes{0};
  std::int64_t full_bytes{0};  ///< bytes of a cache that stores everything exactly
  double bytes_per_stored_token{0};
  std::int64_t peak_bytes{0};     ///< largest number of bytes, from the end of the prompt on
  std::int64_t stored_writes{0};  ///< writes of tokens' keys or values after their append, over all heads
  std::optional<double> mean_output_error;  ///< nothing without decode steps
  std::optional<double> max_output_error;
  std::optional<double> max_logit_error;
};

struct Evaluation {
  LayerBytes after_prompt;
  std::vector<std::vector<std::int64_t>> retained;  ///< [KV head] positions after the prompt
  std::vector<StepResult> steps;
  std::array<Checkpoint, 2> checkpoints;  ///< after the prompt, and after the last step
  EvaluationSummary summary;
};

/// Called between steps; an error ends the run.
using Pause = std::function<Status()>;

/// Gets each decode step of each request: in order of tokens, and for one token in order of requests.
using StepSink = std::function<void(std::size_t request, const StepResult& step)>;

/// Evaluates several formats and policies over one layer in one pass: outputs of the full cache are computed once.
/// REQUIRES: the requests have the same prompt, sequence and layer. `told`: gets the steps, which are then not stored
/// in the evaluations. Errors as below, of the first request with one.
Result<std::vector<Evaluation>> evaluate_together(const attention::Recording& recording,
                                                  std::span<const EvaluationRequest> requests,
                                                  const StepSink& told, const Pause& pause);

/// Errors: tensors or values of this layer, or of a layer that the format stores with it, are missing; a side file of
/// another model or without this layer; a prompt outside 1 .. recorded tokens; parameters that do not fit the layer;
/// numbers beyond binary16; a policy that stores other heads than the recording, or drops nothing; probes outside the
/// tensors.
Result<Evaluation> evaluate(const attention::Recording& recording, const EvaluationRequest& request,
                            const Pause& pause);

}  // namespace kvplan::formats
