#include "simulator/report/chart_bins.h"

#include <algorithm>

#include "simulator/base/check.h"

namespace kvplan::report {

using observe::kStates;
using observe::State;
using runs::RunResult;

namespace {

/// Bins of a timeline joined to at most `kMostBins`, about what the width can show, without loss of exactness.
std::vector<observe::TimelineBin> joined(const std::vector<observe::TimelineBin>& bins) {
  constexpr std::size_t kMostBins = 320;
  const std::size_t group = (bins.size() + kMostBins - 1) / kMostBins;
  std::vector<observe::TimelineBin> out;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (i % group == 0) {
      out.push_back(bins[i]);
      continue;
    }
    observe::TimelineBin& whole = out.back();
    whole.end = bins[i].end;
    for (std::size_t row = 0; row < observe::kTimelineRows && bins[i].seen; ++row) {
      whole.value_ticks[row] += bins[i].value_ticks[row];
      whole.least[row] = whole.seen ? std::min(whole.least[row], bins[i].least[row]) : bins[i].least[row];
      whole.greatest[row] =
          whole.seen ? std::max(whole.greatest[row], bins[i].greatest[row]) : bins[i].greatest[row];
    }
    whole.seen = whole.seen || bins[i].seen;
  }
  return out;
}

}  // namespace

Bins bins_of(const RunResult& r) {
  Bins bins;
  std::vector<std::vector<observe::TimelineBin>> timelines;
  for (const runs::ReplicaDetails& replica : r.details) timelines.push_back(joined(replica.timeline));
  const std::size_t n = timelines.front().size();
  KVPLAN_CHECK(n > 0);
  for (const observe::TimelineBin& bin : timelines.front())
    bins.edges_s.push_back(seconds(bin.begin.since_start));
  bins.edges_s.push_back(seconds(r.makespan));
  for (std::size_t row = 0; row < observe::kTimelineRows; ++row) {
    for (auto* values : {&bins.mean[row], &bins.least[row], &bins.greatest[row]}) values->assign(n, 0);
    for (std::size_t k = 0; k < timelines.size(); ++k) {
      const runs::ReplicaDetails& replica = r.details[k];
      const double scale = row < kStates ? static_cast<double>(replica.layout.count_bytes()) : 1;
      const double more =
          row == index(State::kPadding) ? static_cast<double>(replica.layout.padding_bytes()) : 0;
      for (std::size_t i = 0; i < n; ++i) {
        const observe::TimelineBin& bin = timelines[k][i];
        bins.mean[row][i] += bin.mean(row) * scale + more;
        bins.least[row][i] += static_cast<double>(bin.least[row]) * scale + more;
        bins.greatest[row][i] += static_cast<double>(bin.greatest[row]) * scale + more;
      }
    }
  }
  return bins;
}

std::vector<double> mapped(const std::vector<double>& values, const Scale& scale) {
  std::vector<double> out;
  out.reserve(values.size());
  for (const double value : values) out.push_back(scale.at(value));
  return out;
}

}  // namespace kvplan::report
