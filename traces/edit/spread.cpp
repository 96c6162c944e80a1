#include <algorithm>
#include <numeric>

#include "simulator/base/random.h"
#include "simulator/base/units.h"
#include "traces/edit/edits.h"
#include "traces/edit/remarks.h"

namespace kvplan::traces {
namespace {

/// Rows ordered by arrival; rows with equal times stay in the order of the file.
std::vector<std::size_t> rows_by_time(const Trace& trace) {
  std::vector<std::size_t> rows(trace.arrival_ns.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::size_t a, std::size_t b) { return trace.arrival_ns[a] < trace.arrival_ns[b]; });
  return rows;
}

/// Positions in `rows` where runs of equal times begin, and the end of the last run.
std::vector<std::size_t> bursts_of(const Trace& trace, const std::vector<std::size_t>& rows) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (i == 0 || trace.arrival_ns[rows[i]] != trace.arrival_ns[rows[i - 1]]) begins.push_back(i);
  begins.push_back(rows.size());
  return begins;
}

/// Times in [0, width), ascending.
std::vector<std::int64_t> places_in(std::int64_t width, std::size_t count, bool even, Random& random) {
  std::vector<std::int64_t> out;
  out.reserve(count);
  for (std::size_t k = 0; k < count; ++k)
    out.push_back(even ? static_cast<std::int64_t>(Wide{width} * static_cast<std::int64_t>(k) /
                                                   static_cast<std::int64_t>(count))
                       : static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(width))));
  std::sort(out.begin(), out.end());
  return out;
}

std::string described(const Spreading& spreading, std::int64_t tick_ns) {
  std::string out = "spread_ns=" + (spreading.over == SpreadOver::kNext ? "next" : std::to_string(tick_ns));
  out += spreading.even ? ",how=even" : ",how=uniform,seed=" + std::to_string(spreading.seed);
  return out;
}

}  // namespace

std::int64_t tick_of(const Trace& trace) {
  std::uint64_t tick = 0;  // the difference of two times always fits into 64 bits
  for (const std::int64_t arrival : trace.arrival_ns) {
    const auto [early, late] = std::minmax(arrival, trace.arrival_ns.front());
    tick = std::gcd(tick, static_cast<std::uint64_t>(late) - static_cast<std::uint64_t>(early));
  }
  return static_cast<std::int64_t>(std::min<std::uint64_t>(tick, INT64_MAX));
}

Result<Trace> spread_out(const Trace& trace, const Spreading& spreading) {
  if (!trace.shares_clock)
    return bad_input("its requests have no common clock, so there are no bursts to spread");
  const std::int64_t tick = spreading.over == SpreadOver::kGiven ? spreading.over_ns : tick_of(trace);
  if (tick <= 0)
    return bad_input("all requests arrive at the same time, so only a width in nanoseconds can spread them");
  const std::vector<std::size_t> rows = rows_by_time(trace);
  const std::vector<std::size_t> begins = bursts_of(trace, rows);
  const auto time_of = [&](std::size_t burst) { return trace.arrival_ns[rows[begins[burst]]]; };
  Trace changed = trace;
  Random random(spreading.seed, "trace.spread");
  Wide gap = 0;  // to the next burst; for the last burst, the gap before it
  for (std::size_t burst = 0; burst + 1 < begins.size(); ++burst) {
    const std::int64_t at = time_of(burst);
    const bool last = burst + 2 == begins.size();
    if (!last) gap = Wide{time_of(burst + 1)} - at;
    Wide width = spreading.over == SpreadOver::kNext ? gap : Wide{tick};
    if (!last) width = std::min(width, gap);
    if (width > INT64_MAX || at + width - 1 > INT64_MAX)
      return bad_input("arrivals would be later than 292 years after the first");
    const auto places = places_in(static_cast<std::int64_t>(width), begins[burst + 1] - begins[burst],
                                  spreading.even, random);
    for (std::size_t k = 0; k < places.size(); ++k)
      changed.arrival_ns[rows[begins[burst] + k]] = at + places[k];
  }
  std::vector<std::int64_t> all(rows.size());
  std::iota(all.begin(), all.end(), 0);
  Trace out = select_rows(changed, all);
  out.provenance.options.push_back(described(spreading, tick));
  renew_warnings(trace, out);
  return out;
}

}  // namespace kvplan::traces
