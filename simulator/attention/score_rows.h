// The parameter `score_rows` of several policies: which weights their scores sum up.
#pragma once

#include <array>
#include <string_view>

#include "simulator/attention/policy.h"

namespace kvplan::attention {

inline constexpr std::array<std::string_view, 2> kScoreRows{"renorm", "raw"};
inline constexpr Param kScoreRowsParam{.name = "score_rows",
                                       .help =
                                           "Weights that enter the scores: softmax over the kept tokens only "
                                           "(renorm), or the recorded weights (raw)",
                                       .kind = ParamKind::kText,
                                       .fallback = "renorm",
                                       .choices = kScoreRows};

/// From a choice with kScoreRowsParam.
inline RowUse score_rows_of(const Choice& choice) {
  return choice.text(kScoreRowsParam.name) == "raw" ? RowUse::kRaw : RowUse::kRenorm;
}

}  // namespace kvplan::attention
