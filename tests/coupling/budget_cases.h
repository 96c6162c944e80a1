// Runs with budgets on a small model.
#pragma once

#include <algorithm>

#include "simulator/io/head_scores.h"
#include "tests/coupling/settled.h"
#include "tests/coupling/small_model.h"

namespace kvplan::small_model {

using Numbers = std::vector<std::int64_t>;

inline constexpr const char* kPyramid = "pyramidkv:window=4,capacity=30,beta=5";
inline constexpr const char* kHeads12 =
    "headkv:capacity=24,window=4,beta=1.1,scores=[[4,1,1],[1,2,0],[3,1,1],[2,2,6]]";

inline Values budgeted(const std::string& policy, const std::string& budget, const std::string& table,
                       const std::string& pool) {
  Values values = scenario_with(policy, table, pool);
  values.emplace_back("budget", budget);
  return values;
}

inline runs::RunOptions with_scores(runs::RunOptions how = options()) {
  how.open_scores = io::read_head_scores;
  return how;
}

/// One request, followed cell by cell. Each table has cells; a cell is true if any of its units keeps a token there;
/// each unit keeps as many tokens as its budget says.
struct Told {
  std::int64_t blocks_freed{0}, compaction_cells{0}, dropped{0};
};

inline Told told(const std::vector<Numbers>& tables, std::int64_t prompt, std::int64_t final_tokens,
                 std::int64_t block) {
  Told out;
  for (const Numbers& units : tables) {
    const std::int64_t most = *std::max_element(units.begin(), units.end());
    std::int64_t cells = prompt - 1;
    std::int64_t held = ceil_div(prompt, block);
    Numbers kept(units.size(), prompt - 1);
    for (std::int64_t n = prompt; n < final_tokens; ++n) {
      held = std::max(held, ceil_div(++cells, block));
      for (std::size_t u = 0; u < units.size(); ++u) {
        const std::int64_t now = std::min(kept[u] + 1, units[u]);
        out.dropped += kept[u] + 1 - now;
        kept[u] = now;
      }
      if (cells - std::min(n, most) < block) continue;
      cells = std::min(n, most);
      for (const std::int64_t each : kept) out.compaction_cells += each;
      out.blocks_freed += held - ceil_div(cells, block);
      held = ceil_div(cells, block);
    }
  }
  return out;
}

inline std::string error_of(Values values, bool recorded = false,
                            const traces::Trace& trace = trace_of(3, 60)) {
  if (recorded) values.emplace_back("workload.attention", "r.kva");
  const auto scenario = resolved(values);
  if (!scenario.ok()) return scenario.error().to_string();
  const auto result = runs::run_scenario(scenario.value(), trace, with_scores());
  return result.ok() ? "" : result.error().to_string();
}

}  // namespace kvplan::small_model
