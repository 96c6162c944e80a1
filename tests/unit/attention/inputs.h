// Recordings for tests, and a policy's results on them in plain containers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulator/attention/evaluation.h"
#include "simulator/attention/recording.h"
#include "simulator/base/random.h"

namespace kvplan::attention {

/// rows[head][t][i]: post-softmax weights of one layer.
using Rows = std::vector<std::vector<std::vector<double>>>;

enum class RowKind {
  kSmooth,  ///< softmax of random logits with a few persistently heavy tokens: no ties
  kTies,    ///< multiples of 1/64 that sum to 1: many exact ties, exact sums
  kSharp,   ///< a row's whole weight on one token; the others have 0, 1e-30 or, as float64 only, 1e-300
  kTwins,   ///< as kSmooth, but rows give the tokens 2 i and 2 i + 1 the same weight, to the last bit
};

Rows random_rows(Random& random, int heads, int tokens, RowKind kind);
/// A recording of one sequence with the given heads in each layer (layers.size() layers), in float64 or float32.
std::shared_ptr<const Recording> recording_of(const std::vector<Rows>& layers, int group = 1,
                                              Element element = Element::kF64);
/// The same recording with only these KV heads of each layer, ascending; a layer without heads is left out.
std::shared_ptr<const Recording> only_heads(std::shared_ptr<const Recording> whole,
                                            const std::vector<std::vector<std::int32_t>>& heads);

using Sets = std::vector<std::vector<std::int32_t>>;  ///< [set] positions
struct Outcome {
  Sets after_prefill;
  std::vector<Sets> retained;             ///< [decode step]
  std::vector<std::vector<double>> mass;  ///< [decode step][query head]
  std::vector<std::vector<double>> error;
  EvaluationSummary summary;
};
/// Runs `policy` (NAME:key=value,...); any error fails the test and gives an empty outcome.
Outcome run_policy(const Recording& recording, const std::string& policy, std::int64_t prompt, int layer = 0);
Outcome run_policy(const Recording& recording, const PolicyChoice& policy, std::int64_t prompt,
                   int layer = 0);

}  // namespace kvplan::attention
