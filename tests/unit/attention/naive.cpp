#include "tests/unit/attention/naive.h"

#include <algorithm>

#include "tests/unit/attention/naive_sets.h"

namespace kvplan::attention {
namespace {

using Kind = NaivePolicy::Kind;

/// What one set of residents is, and what each has accumulated.
struct Head {
  std::set<int> kept;
  std::map<int, double> score;
};

std::map<int, double> reduced_row(const Rows& rows, const NaivePolicy& policy, const std::set<int>& over,
                                  int first_head, int heads, int t, bool renorm) {
  std::map<int, double> out;
  for (int h = first_head; h < first_head + heads; ++h) {
    const auto& row = rows[static_cast<std::size_t>(h)][static_cast<std::size_t>(t)];
    double sum = 0;
    for (const int p : over) sum += row[static_cast<std::size_t>(p)];
    for (const int p : over) {
      const double raw = row[static_cast<std::size_t>(p)];
      const double weight = renorm && sum > 0 ? raw / sum : raw;
      out[p] = policy.max ? std::max(out[p], weight) : out[p] + weight;
    }
  }
  if (!policy.max)
    for (auto& [p, weight] : out) weight /= heads;
  return out;
}

void evict(Head& head, const NaivePolicy& policy) {
  const int n = static_cast<int>(head.kept.size());
  std::set<int> stay = head.kept;
  if (policy.kind == Kind::kInterval && n > policy.a + policy.b) {
    stay = naive_newest(head.kept, policy.b);
    int i = 0;
    for (auto p = head.kept.begin(); i < policy.a; ++p, ++i) stay.insert(*p);
  } else if (policy.kind == Kind::kH2o && n > policy.a + policy.b) {
    const std::set<int> recent = naive_newest(head.kept, policy.b);
    stay = naive_best(head.score, naive_less(head.kept, recent), policy.a);
    stay.insert(recent.begin(), recent.end());
  } else if (policy.kind == Kind::kTova && n > policy.a) {
    stay = naive_best(head.score, head.kept, policy.a);
  }
  for (const int p : head.kept)
    if (stay.count(p) == 0) head.score.erase(p);
  head.kept = stay;
}

}  // namespace

Outcome run_naive(const Rows& rows, const NaivePolicy& policy, int prompt) {
  const int query_heads = static_cast<int>(rows.size());
  const int tokens = static_cast<int>(rows[0].size());
  const int heads = policy.kind == Kind::kTova ? query_heads : policy.group;
  std::vector<Head> state(static_cast<std::size_t>(query_heads / heads));
  Outcome out;
  for (int t = 0; t < tokens; ++t) {
    Sets sets;
    std::vector<double> masses(static_cast<std::size_t>(query_heads));
    for (int u = 0; u < static_cast<int>(state.size()); ++u) {
      Head& head = state[static_cast<std::size_t>(u)];
      head.kept.insert(t);
      std::set<int> read = head.kept;
      if (policy.kind == Kind::kTopK && t >= prompt)
        read =
            naive_best(reduced_row(rows, policy, head.kept, u * heads, heads, t, false), head.kept, policy.a);
      for (int h = u * heads; h < (u + 1) * heads; ++h)
        for (const int p : read)
          masses[static_cast<std::size_t>(h)] +=
              rows[static_cast<std::size_t>(h)][static_cast<std::size_t>(t)][static_cast<std::size_t>(p)];
      const auto row = reduced_row(rows, policy, head.kept, u * heads, heads, t, !policy.raw);
      for (const auto& [p, weight] : row) {
        if (policy.kind == Kind::kTova) {
          head.score[p] = weight;
        } else {
          head.score[p] += weight;
        }
      }
      if (t >= prompt - 1) evict(head, policy);
      const std::set<int>& told = policy.kind == Kind::kTopK && t >= prompt ? read : head.kept;
      sets.emplace_back(told.begin(), told.end());
    }
    if (t == prompt - 1) out.after_prefill = sets;
    if (t < prompt) continue;
    out.retained.push_back(sets);
    out.mass.push_back(masses);
  }
  return out;
}

}  // namespace kvplan::attention
