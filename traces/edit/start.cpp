#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "simulator/base/random.h"
#include "simulator/base/units.h"
#include "traces/edit/edits.h"
#include "traces/edit/groups.h"
#include "traces/edit/remarks.h"
#include "traces/record/digest.h"
#include "traces/record/known_warnings.h"
#include "traces/record/memory_stream.h"

namespace kvplan::traces {

Result<Trace> started(const Trace& trace, Fraction rate_per_s, std::uint64_t seed) {
  KVPLAN_TRY(const auto groups, groups_of(trace));
  Trace out = trace;
  Random random(seed, "trace.start");
  const double mean_ns = static_cast<double>(kNsPerSecond) * static_cast<double>(rate_per_s.denominator) /
                         static_cast<double>(rate_per_s.numerator);
  Wide start_ns = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (g > 0)
      start_ns += static_cast<std::int64_t>(std::min(-std::log1p(-random.unit()) * mean_ns + 0.5, 9e18));
    std::int64_t first_ns = INT64_MAX;
    for (const std::int64_t row : groups[g])
      first_ns = std::min(first_ns, trace.arrival_ns[static_cast<std::size_t>(row)]);
    for (const std::int64_t row : groups[g]) {
      const auto i = static_cast<std::size_t>(row);
      const Wide arrival = start_ns + (Wide{trace.arrival_ns[i]} - first_ns);
      if (arrival > std::numeric_limits<std::int64_t>::max())
        return bad_input("arrivals would be later than 292 years after the first");
      out.arrival_ns[i] = static_cast<std::int64_t>(arrival);
    }
  }
  out.shares_clock = true;
  renew_warnings(trace, out);
  std::erase_if(out.provenance.warnings, [](std::string_view warning) {
    if (warning.substr(0, kOfTheOriginal.size()) == kOfTheOriginal)
      warning.remove_prefix(kOfTheOriginal.size());
    return warning.substr(0, kNoSessionStarts.size()) == kNoSessionStarts ||
           warning.substr(0, kNoArrivals.size()) == kNoArrivals;
  });
  const std::string p = std::to_string(rate_per_s.numerator);
  out.provenance.options.push_back(
      "start_rate_per_s=" +
      (rate_per_s.denominator == 1 ? p : p + "/" + std::to_string(rate_per_s.denominator)) +
      ",seed=" + std::to_string(seed));
  TraceDigest digest;
  digest.add(out);
  out.digest = digest.finish(MemoryStream(out).summary());
  return out;
}

}  // namespace kvplan::traces
