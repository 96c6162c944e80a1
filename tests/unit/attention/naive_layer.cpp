#include "tests/unit/attention/naive_layer.h"

#include <gtest/gtest.h>

#include <sstream>

namespace kvplan::attention {

NaiveSpec naive_spec(const std::string& text) {
  NaiveSpec out;
  std::istringstream in(text);
  std::getline(in, out.name, ':');
  for (std::string pair; std::getline(in, pair, ',');)
    out.given[pair.substr(0, pair.find('='))] = pair.substr(pair.find('=') + 1);
  return out;
}

NaiveRow NaiveLayer::reduce(const std::vector<NaiveRow>& heads, bool raw) const {
  NaiveRow out;
  for (const NaiveRow& row : heads) {
    double sum = 0;
    for (const auto& [p, weight] : row) sum += weight;
    for (const auto& [p, weight] : row) {
      const double part = raw || sum <= 0 ? weight : weight / sum;
      out[p] = place_.max ? std::max(out[p], part) : out[p] + part;
    }
  }
  if (!place_.max)
    for (auto& [p, weight] : out) weight /= static_cast<double>(heads.size());
  return out;
}

namespace {

std::vector<std::int32_t> listed(const std::set<int>& set) {
  return {set.begin(), set.end()};
}

}  // namespace

Outcome run_naive_layer(const Rows& rows, const NaiveSpec& spec, int prompt) {
  const NaivePlace place{.query_heads = static_cast<int>(rows.size()),
                         .group = spec.whole("group"),
                         .prompt = prompt,
                         .max = spec.text("agg") == "max",
                         .rows = &rows};
  auto policy = naive_prompt_policy(spec, place);
  if (policy == nullptr) policy = naive_decode_policy(spec, place);
  if (policy == nullptr) policy = naive_budget_policy(spec, place);
  if (policy == nullptr) policy = naive_late_policy(spec, place);
  Outcome out;
  if (policy == nullptr) {
    ADD_FAILURE() << "no naive form of " << spec.name;
    return out;
  }
  const int sets = place.query_heads / place.group;
  NaiveSets kept(static_cast<std::size_t>(sets));
  for (int t = 0; t < static_cast<int>(rows[0].size()); ++t) {
    std::vector<double> masses(rows.size());
    for (int s = 0; s < sets; ++s) {
      auto& set = kept[static_cast<std::size_t>(s)];
      set = naive_less(set, policy->room(s, set, t));
      std::set<int> seen = t >= prompt ? policy->shown(s, set) : set;
      seen.insert(t);
      set.insert(t);
      std::vector<NaiveRow> heads;
      for (int h = s * place.group; h < (s + 1) * place.group; ++h) {
        const auto& row = rows[static_cast<std::size_t>(h)][static_cast<std::size_t>(t)];
        heads.emplace_back();
        for (const int p : seen) {
          heads.back()[p] = row[static_cast<std::size_t>(p)];
          masses[static_cast<std::size_t>(h)] += row[static_cast<std::size_t>(p)];
        }
      }
      policy->see(s, t, heads);
    }
    if (t < prompt - 1) continue;
    kept = policy->stay(t, kept);
    Sets told;
    for (int s = 0; s < sets; ++s)
      told.push_back(listed(policy->shown(s, kept[static_cast<std::size_t>(s)])));
    if (t == prompt - 1) {
      out.after_prefill = told;
    } else {
      out.retained.push_back(told);
      out.mass.push_back(masses);
    }
  }
  return out;
}

}  // namespace kvplan::attention
