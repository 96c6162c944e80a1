// The step times of DistServe's planner (Zhong et al., OSDI 2024, appendix A). A batch has one phase:
//
//   prompts   C1 (4 t h^2 + 2 t h m) + C2 3 h t2 / b + C3     t tokens of the batch, t2 squares of the prompts' tokens
//   decoding  C4 (4 h^2 + 2 h m) + C5 3 h t                   t tokens of context
//
// h and m are the model's hidden and feed-forward size, b the block of the attention kernel: constants of a deployment,
// like the C, which its users fit. So each term has one coefficient here, in ticks. The planner's code has one more for
// each request when it decodes.
//
// A step decodes if no request computes more than one token in it; every other step is one of prompts. A request that
// computes n tokens after c others counts there as (c + n)^2 - c^2, so that the chunks of a prompt together have the
// square of the whole. That is twice the query-key pairs minus n. The paper has no batches with both phases: in a step
// of prompts, tokens of context cost what they cost while decoding; otherwise requests that decode beside a prompt
// chunk would read theirs for free.
#include <array>

#include "simulator/latency/affine_ticks.h"
#include "simulator/latency/latencies.h"

namespace kvplan::latency::latency_distserve {
namespace {

class DistServe final : public core::LatencyModel {
 public:
  DistServe(const AffineTicks& prefill, const AffineTicks& decode) : prefill_(prefill), decode_(decode) {}

  [[nodiscard]] Ticks step(const core::StepLoad& load) const override {
    return decodes(load) ? decode_.of(load) : prefill_.of(with_earlier_pairs(load));
  }

  /// Step by step where more tokens are computed in each (nothing is kept): squares bend.
  [[nodiscard]] core::StepSeries decode_series(const core::StepLoad& load, const core::LoadGrowth& growth,
                                               std::int64_t max_steps) const override {
    const Ticks first = step(load);
    if (!decodes(load) || growth.tokens != 0) return {first, Ticks{0}, 1};
    const std::int64_t more = decode_.growth(growth);
    return {first, Ticks{more}, steps_below_cut(first, more, max_steps)};
  }

 private:
  static bool decodes(const core::StepLoad& load) { return load.tokens == load.requests; }
  /// Pairs of a token with those before it; only these can be hidden by a window: (c + n)^2 - c^2 is twice these plus
  /// n. Values that were cut stay cut.
  static core::StepLoad with_earlier_pairs(core::StepLoad load) {
    if (load.attention_pairs < core::kMostAttentionPairs) load.attention_pairs -= load.tokens;
    return load;
  }

  AffineTicks prefill_;  // per token, and per pair of with_earlier_pairs
  AffineTicks decode_;   // per token, which is per request
};

// OPT-13B on one A100, decoding fewer than 95 requests (profiler-a100-80g.distserve.json of the source).
constexpr std::array<Param, 6> kParams{
    coefficient("prefill_base_ns", "Fixed time of a step with prompt tokens: C3", "16456860"),
    coefficient("prefill_token_ns",
                "Time per token computed in a step with prompt tokens: C1 (4 h^2 + 2 h m)", "92647.5"),
    coefficient("prefill_square_ns", "Time per squared prompt length: 3 C2 h / b", "6.4748"),
    coefficient("decode_base_ns", "Fixed time of a step with decoding requests only: C4 (4 h^2 + 2 h m)",
                "19934703"),
    coefficient("decode_request_ns", "Time per request in a step with decoding requests only; 0 in the paper",
                "38507"),
    coefficient("decode_context_ns",
                "Time per context token that a step reads, with or without prompt tokens: 3 C5 h", "626.936"),
};

Result<std::unique_ptr<core::LatencyModel>> make(const Choice& choice, const LatencyRequest& request) {
  // Rounded once to ticks of 2^-10 ns, halves up.
  std::array<std::int64_t, kParams.size()> ticks{};
  for (std::size_t i = 0; i < kParams.size(); ++i) {
    const auto rounded = decimal_times_power_of_two(choice.text(kParams[i].name), 10);
    if (!rounded) return bad_input("expected coefficients as plain decimals").at_field("latency");
    ticks[i] = *rounded;
  }
  const auto [base, token, square, decode_base, decode_request, context] = ticks;
  AffineTicks prefill{base, token + square, context, 2 * square};
  AffineTicks decode{decode_base, decode_request, context};
  prefill.share_windows(request.model);
  decode.share_windows(request.model);
  prefill.share_parts(request);
  decode.share_parts(request);
  return std::unique_ptr<core::LatencyModel>(std::make_unique<DistServe>(prefill, decode));
}

}  // namespace

extern const LatencyEntry kMember;
const LatencyEntry kMember{
    .descriptor =
        {.family = "latency",
         .name = "distserve",
         .summary = "DistServe's two formulas: prefill time by prompt tokens and squared prompt lengths, "
                    "decode time by requests and context tokens.",
         .source = "Zhong et al., OSDI 2024 (arXiv 2401.09670, appendix A); LLMServe/DistServe@7057aef "
                   "simdistserve/estimators",
         .params = kParams,
         .divergences =
             "In the paper, C1 to C5 multiply sizes of the model (h hidden size, m feed-forward size) and of "
             "the attention kernel (b block size). In kvplan, as in DistServe's code, each term has one "
             "coefficient, fitted for one model on one deployment. Unlike the paper, the code has a time per "
             "decoding request, and separate coefficients for large batches; kvplan has the former, and one "
             "set of coefficients. The paper has no mixed batches. For a mixed batch, the code adds the "
             "square of each prompt piece and ignores decoding requests. In kvplan a mixed batch takes the "
             "time of a step with prompt tokens: n tokens after a context of c add (c + n)^2 - c^2, and the "
             "context that the step reads adds its time too."},
    .make = make,
    .assumption =
        "Step times follow DistServe's formulas. Their coefficients belong to one model on one deployment "
        "and do not follow this scenario's; coefficients that are not given are those of OPT-13B on one "
        "A100."};

}  // namespace kvplan::latency::latency_distserve
