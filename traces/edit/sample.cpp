#include <algorithm>
#include <numeric>

#include "simulator/base/random.h"
#include "traces/edit/edits.h"
#include "traces/edit/groups.h"
#include "traces/edit/remarks.h"

namespace kvplan::traces {

Result<Trace> sample_of(const Trace& trace, std::int64_t count, std::uint64_t seed) {
  if (count < 1) return bad_input("expected at least one request");
  if (count > trace.size())
    return bad_input("has " + std::to_string(trace.size()) + " requests, fewer than the " +
                     std::to_string(count) + " to draw");
  KVPLAN_TRY(auto groups, groups_of(trace));
  Random random(seed, "trace.sample");
  std::vector<std::int64_t> rows;
  // The first steps of a shuffle: each group that is left is equally likely to be drawn.
  for (std::size_t drawn = 0; static_cast<std::int64_t>(rows.size()) < count; ++drawn) {
    std::swap(groups[drawn], groups[drawn + random.below(groups.size() - drawn)]);
    rows.insert(rows.end(), groups[drawn].begin(), groups[drawn].end());
  }
  std::sort(rows.begin(), rows.end());
  Trace out = select_rows(trace, rows);
  out.provenance.options.push_back("sample=" + std::to_string(count) + ",seed=" + std::to_string(seed));
  renew_warnings(trace, out);
  return out;
}

}  // namespace kvplan::traces
