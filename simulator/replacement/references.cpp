#include "simulator/replacement/references.h"

#include <algorithm>

namespace kvplan::replacement {

Result<References> references_of(const traces::Trace& trace) {
  if (!trace.prefix.present() || trace.prefix.ids.empty())
    return bad_input("the trace has no block hashes: expected a trace with prefix hashes");
  if (trace.prefix.distinct > kMostIds)
    return bad_input("the trace has " + std::to_string(trace.prefix.distinct) +
                     " different blocks, expected at most " + std::to_string(kMostIds));
  References refs;
  refs.ids = trace.prefix.ids;
  refs.offsets = trace.prefix.offsets;
  refs.distinct = static_cast<Id>(trace.prefix.distinct);
  refs.times_ns.reserve(trace.arrival_ns.size());
  std::int64_t latest = trace.arrival_ns.front();
  for (const std::int64_t arrival : trace.arrival_ns) {
    latest = std::max(latest, arrival);
    refs.times_ns.push_back(latest - trace.arrival_ns.front());
  }
  if (!trace.tenant.empty()) {
    // Rows without a tenant form a category of their own.
    refs.category_count = static_cast<std::uint32_t>(trace.tenant_names.size()) + 1;
    for (const std::int32_t tenant : trace.tenant)
      refs.categories.push_back(static_cast<std::uint32_t>(tenant + 1));
  }
  return refs;
}

}  // namespace kvplan::replacement
