#include <algorithm>

#include "traces/edit/edits.h"
#include "traces/edit/remarks.h"

namespace kvplan::traces {

Result<Trace> window_of(const Trace& trace, std::int64_t begin_ns, std::int64_t end_ns) {
  if (!trace.shares_clock) return bad_input("its requests have no common clock, so it has no time window");
  std::vector<std::int64_t> rows;
  if (trace.size() > 0) {
    const std::int64_t first = *std::min_element(trace.arrival_ns.begin(), trace.arrival_ns.end());
    for (std::int64_t row = 0; row < trace.size(); ++row) {
      const std::int64_t since = trace.arrival_ns[static_cast<std::size_t>(row)] - first;
      if (since >= begin_ns && since < end_ns) rows.push_back(row);
    }
  }
  if (rows.empty()) return bad_input("no request arrives in this time window");
  Trace out = select_rows(trace, rows);
  out.provenance.options.push_back("window_ns=" + std::to_string(begin_ns) + ".." + std::to_string(end_ns));
  renew_warnings(trace, out);
  return out;
}

}  // namespace kvplan::traces
