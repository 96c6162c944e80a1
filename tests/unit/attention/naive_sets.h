// Code that the naive second implementations share: rows as maps, sets chosen by full sorts.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace kvplan::attention {

using NaiveRow = std::map<int, double>;  ///< position -> weight

/// The `count` best of `among`: higher score first, then newer.
inline std::set<int> naive_best(const NaiveRow& score, const std::set<int>& among, int count) {
  std::vector<std::pair<double, int>> order;
  for (const int p : among) order.emplace_back(score.count(p) != 0 ? score.at(p) : 0.0, p);
  std::sort(order.rbegin(), order.rend());
  std::set<int> out;
  for (int i = 0; i < count && i < static_cast<int>(order.size()); ++i)
    out.insert(order[static_cast<std::size_t>(i)].second);
  return out;
}

inline std::set<int> naive_newest(const std::set<int>& of, int count) {
  std::set<int> out;
  for (auto p = of.rbegin(); p != of.rend() && static_cast<int>(out.size()) < count; ++p) out.insert(*p);
  return out;
}

inline std::set<int> naive_less(const std::set<int>& from, const std::set<int>& these) {
  std::set<int> out;
  std::set_difference(from.begin(), from.end(), these.begin(), these.end(), std::inserter(out, out.end()));
  return out;
}

inline std::set<int> naive_range(int begin, int end) {
  std::set<int> out;
  for (int p = begin; p < end; ++p) out.insert(p);
  return out;
}

}  // namespace kvplan::attention
