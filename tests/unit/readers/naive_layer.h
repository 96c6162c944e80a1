// A layer at one step, and vectors of plain doubles: code that the naive models of sparse attention methods share.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/unit/readers/naive.h"

namespace kvplan::readers::testing {

using Vector = std::vector<double>;

inline Vector slice(const std::vector<float>& all, std::int64_t token, std::int32_t size) {
  Vector out;
  for (std::int32_t c = 0; c < size; ++c)
    out.push_back(static_cast<double>(all[static_cast<std::size_t>(token * size + c)]));
  return out;
}

inline double product(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

struct NaiveLayer {
  const LayerTensors& in;
  const Choice& choice;
  std::int32_t number;
  std::int64_t prompt;
  std::int64_t t;

  [[nodiscard]] std::int32_t group() const { return in.query_heads / in.kv_heads; }
  [[nodiscard]] std::int64_t first() const {
    return in.window == 0 ? 0 : std::max<std::int64_t>(0, t + 1 - in.window);
  }
  [[nodiscard]] Vector key(std::int32_t head, std::int64_t token) const {
    return slice(in.keys[static_cast<std::size_t>(head)], token, in.key_size);
  }
  [[nodiscard]] Vector query(std::int32_t query_head, std::int64_t token) const {
    return slice(in.queries[static_cast<std::size_t>(query_head)], token, in.key_size);
  }
  /// Adds the tokens of [begin, end) that the query sees.
  void add_seen(std::int64_t begin, std::int64_t end, std::set<std::int32_t>& to) const {
    for (std::int64_t i = begin; i < end; ++i)
      if (i >= first() && i <= t) to.insert(static_cast<std::int32_t>(i));
  }
  [[nodiscard]] std::vector<std::set<std::int32_t>> everything() const {
    std::set<std::int32_t> all;
    add_seen(0, t + 1, all);
    return std::vector<std::set<std::int32_t>>(static_cast<std::size_t>(in.query_heads), all);
  }
};

/// Scores by what is ranked; of several query heads as `share` says, for query head `query_head`.
inline Vector shared(const NaiveLayer& at, std::int32_t query_head, const std::vector<Vector>& scores) {
  const std::string& share = at.choice.text("share");
  if (share == "none") return scores[static_cast<std::size_t>(query_head)];
  const std::int32_t begin = query_head / at.group() * at.group();
  Vector out = scores[static_cast<std::size_t>(begin)];
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::int32_t q = begin + 1; q < begin + at.group(); ++q) {
      const double score = scores[static_cast<std::size_t>(q)][i];
      out[i] = share == "max" ? std::max(out[i], score) : out[i] + score;
    }
    if (share == "mean") out[i] /= at.group();
  }
  return out;
}

/// Indices from the greatest score on; of equals the newer one first.
inline std::vector<std::int32_t> newest_first(const Vector& scores) {
  std::vector<std::pair<double, std::int32_t>> list;
  for (std::size_t i = 0; i < scores.size(); ++i) list.emplace_back(scores[i], static_cast<std::int32_t>(i));
  std::sort(list.rbegin(), list.rend());
  std::vector<std::int32_t> out;
  for (const auto& [score, index] : list) out.push_back(index);
  return out;
}

NaiveRead naive_clusterkv(const NaiveLayer& at);
NaiveRead naive_retro_infer(const NaiveLayer& at);

}  // namespace kvplan::readers::testing
