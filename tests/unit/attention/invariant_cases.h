// Random inputs of tests of invariants, and the policies that they try.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/attention/inputs.h"

namespace kvplan::attention {

inline constexpr std::uint64_t kSeeds = 60;

struct Draw {
  Rows rows;
  int heads;
  int tokens;
  int prompt;
  int budget;  ///< at least 2
};
inline Draw draw(std::uint64_t seed) {
  Random random(seed, "invariants");
  Draw out;
  out.heads = 1 + static_cast<int>(random.below(4));
  out.tokens = 8 + static_cast<int>(random.below(60));
  out.prompt = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(out.tokens) - 1));
  out.budget = 2 + static_cast<int>(random.below(20));
  out.rows = random_rows(random, out.heads, out.tokens, seed % 3 == 0 ? RowKind::kTies : RowKind::kSmooth);
  return out;
}

inline std::string number(int x) {
  return std::to_string(x);
}
inline std::string h2o_text(int budget) {
  return "h2o:hh=" + number(budget / 2) + ",recent=" + number(budget - budget / 2);
}
inline std::string streaming_text(int budget) {
  return "streaming-llm:sink=1,recent=" + number(budget - 1);
}
inline std::vector<std::string> bounded_policies(int budget) {
  return {"window:window=" + number(budget), streaming_text(budget), h2o_text(budget),
          h2o_text(budget) + ",score_rows=raw", "tova:budget=" + number(budget)};
}
/// Keyformer with a budget as a share of its prompt. REQUIRES: budget <= prompt.
inline std::string keyformer_text(int budget, int prompt) {
  const double percent = budget == prompt ? 100 : (budget + 0.5) * 100 / prompt;
  return "keyformer:kv_percent=" + std::to_string(percent);
}
/// These and all others that never keep more than a budget; Keyformer only if the prompt is at least as long.
inline std::vector<std::string> all_bounded_policies(int budget, int prompt) {
  std::vector<std::string> out = bounded_policies(budget);
  for (const char* policy :
       {"scissorhands:recent=1,drop=1,budget=", "scissorhands:recent=1,history=5,budget=",
        "seed-proportional:budget=", "seed-proportional:importance=decay,fraction=0.4,budget=",
        "seed-lfu:theta=0.05,budget=", "seed-lru:theta=0.05,budget=", "random:sink=1,budget=",
        "oracle-suffix:budget=", "expr:score=windowed/(1+age),window=4,budget="})
    out.push_back(policy + number(budget));
  if (budget <= prompt) out.push_back(keyformer_text(budget, prompt));
  return out;
}

}  // namespace kvplan::attention
