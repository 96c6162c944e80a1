#include <algorithm>
#include <numeric>

#include "simulator/base/random.h"
#include "traces/edit/edits.h"

namespace kvplan::traces {
namespace {

/// The rows of each session, and each request without one by itself, in the order of the file.
std::vector<std::vector<std::int64_t>> groups_of(const Trace& trace) {
  std::vector<std::vector<std::int64_t>> groups;
  std::vector<std::size_t> group_of(trace.session_names.size(), SIZE_MAX);
  for (std::int64_t row = 0; row < trace.size(); ++row) {
    const std::int32_t session = trace.session.empty() ? -1 : trace.session[static_cast<std::size_t>(row)];
    if (session < 0) {
      groups.push_back({row});
      continue;
    }
    std::size_t& group = group_of[static_cast<std::size_t>(session)];
    if (group == SIZE_MAX) {
      group = groups.size();
      groups.emplace_back();
    }
    groups[group].push_back(row);
  }
  return groups;
}

}  // namespace

Result<Trace> sample_of(const Trace& trace, std::int64_t count, std::uint64_t seed) {
  if (count < 1) return bad_input("expected at least one request");
  if (count > trace.size())
    return bad_input("has " + std::to_string(trace.size()) + " requests, fewer than the " +
                     std::to_string(count) + " to draw");
  std::vector<std::vector<std::int64_t>> groups = groups_of(trace);
  Random random(seed, "trace.sample");
  std::vector<std::int64_t> rows;
  // The beginning of a shuffle: each group that is left is as likely as any other.
  for (std::size_t drawn = 0; static_cast<std::int64_t>(rows.size()) < count; ++drawn) {
    std::swap(groups[drawn], groups[drawn + random.below(groups.size() - drawn)]);
    rows.insert(rows.end(), groups[drawn].begin(), groups[drawn].end());
  }
  std::sort(rows.begin(), rows.end());
  Trace out = select_rows(trace, rows);
  out.provenance.options.push_back("sample=" + std::to_string(count) + ",seed=" + std::to_string(seed));
  return out;
}

}  // namespace kvplan::traces
