// Bins compared with a brute force over every step, and bins that were joined on the way with bins made when the end
// was known. The report of a run does not depend on how its timeline was made.
#include <gtest/gtest.h>

#include "simulator/observe/integral.h"
#include "simulator/observe/timeline.h"
#include "simulator/results/report.h"
#include "tests/support/random_case.h"
#include "tests/support/run_replica.h"

namespace kvplan {
namespace {

using observe::LedgerSink;
using observe::LedgerSpan;
using observe::Timeline;
using observe::TimelineBin;

/// Keeps all spans.
class Spans final : public LedgerSink {
 public:
  void on_span(const LedgerSpan& span) override { all.push_back(span); }
  std::vector<LedgerSpan> all;
};

std::vector<LedgerSpan> spans_of(const test::RandomCase& c) {
  const auto allocator = c.make_allocator(false);
  if (!allocator) return {};
  Spans spans;
  observe::Ledger ledger(c.workload, allocator.value()->layout(), c.keep, {&spans});
  const std::array<core::Observer*, 1> observers{&ledger};
  const core::ReplicaSetup run{
      .workload = &c.workload, .keep = c.keep, .latency = c.latency.get(), .observers = observers};
  EXPECT_TRUE(test::serve_alone(run, c.scheduler, *allocator.value(), c.workload.order, false).ok());
  return spans.all;
}

SimTime end_of(const LedgerSpan& span) {
  return span.begin + Ticks{static_cast<std::int64_t>(span.series.span(span.series.steps))};
}

/// One row of one bin, computed step by step.
TimelineBin brute(const std::vector<LedgerSpan>& spans, SimTime begin, SimTime end, std::size_t row) {
  TimelineBin bin;
  for (const LedgerSpan& span : spans)
    for (std::int64_t k = 0; k < span.series.steps; ++k) {
      const SimTime from =
          std::max(begin, span.begin + Ticks{static_cast<std::int64_t>(span.series.span(k))});
      const SimTime to =
          std::min(end, span.begin + Ticks{static_cast<std::int64_t>(span.series.span(k + 1))});
      if (from >= to) continue;
      const std::int64_t value = row < observe::kStates    ? span.cells[row] + k * span.growth[row]
                                 : row == observe::kStates ? span.running
                                                           : span.waiting;
      bin.value_ticks[row] += Wide{value} * (to - from).count;
      bin.least[row] = bin.seen ? std::min(bin.least[row], value) : value;
      bin.greatest[row] = bin.seen ? std::max(bin.greatest[row], value) : value;
      bin.seen = true;
    }
  return bin;
}

void expect_equal(const TimelineBin& a, const TimelineBin& b, std::size_t row) {
  ASSERT_EQ(a.seen, b.seen);
  if (!a.seen) return;
  ASSERT_TRUE(a.value_ticks[row] == b.value_ticks[row]);
  ASSERT_EQ(a.least[row], b.least[row]);
  ASSERT_EQ(a.greatest[row], b.greatest[row]);
}

Timeline joined_of(const std::vector<LedgerSpan>& spans, SimTime reached) {
  Timeline joined = Timeline::joined(8, reached);
  for (const LedgerSpan& span : spans) joined.on_span(span);
  joined.end_at(end_of(spans.back()));
  return joined;
}

TEST(Timeline, EqualsBruteForceAndJoinsExactly) {
  int joined_runs = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto c = test::draw_case(seed);
    // Longer than the narrowest bins, so that bins are joined.
    for (SimTime& t : c->workload.arrival) t = SimTime{Ticks{t.since_start.count * 3}};
    const std::vector<LedgerSpan> spans = spans_of(*c);
    if (spans.empty() || end_of(spans.back()) == SimTime{}) continue;
    const SimTime end = end_of(spans.back());
    Timeline equal(end, 9);
    for (const LedgerSpan& span : spans) equal.on_span(span);
    const Timeline joined = joined_of(spans, {});
    for (std::size_t row = 0; row < observe::kTimelineRows; ++row) {
      for (const TimelineBin& bin : equal.bins())
        expect_equal(bin, brute(spans, bin.begin, bin.end, row), row);
      for (const TimelineBin& bin : joined.bins())
        expect_equal(bin, brute(spans, bin.begin, bin.end, row), row);
    }
    ASSERT_LE(joined.bins().size(), 8U);
    ASSERT_EQ(joined.bins().front().begin, SimTime{});
    ASSERT_EQ(joined.bins().back().end, end);
    for (std::size_t i = 1; i < joined.bins().size(); ++i)
      ASSERT_EQ(joined.bins()[i].begin, joined.bins()[i - 1].end);
    if (end.since_start.count > 8 * 65536) {
      ASSERT_GT(joined.bins().size(), 4U);
      ++joined_runs;
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(joined_runs, 10);
}

TEST(Timeline, WhatIsKnownOfTheEndChangesNoBin) {
  int runs = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto c = test::draw_case(seed);
    for (SimTime& t : c->workload.arrival) t = SimTime{Ticks{t.since_start.count * 3}};
    const std::vector<LedgerSpan> spans = spans_of(*c);
    if (spans.empty()) continue;
    const SimTime end = end_of(spans.back());
    const Timeline known_nothing = joined_of(spans, {});
    for (const std::int64_t part : {1, 7, 50, 100}) {
      const Timeline known = joined_of(spans, SimTime{Ticks{end.since_start.count / 100 * part}});
      ASSERT_EQ(known.bins().size(), known_nothing.bins().size());
      for (std::size_t i = 0; i < known.bins().size(); ++i) {
        ASSERT_EQ(known.bins()[i].end, known_nothing.bins()[i].end);
        for (std::size_t row = 0; row < observe::kTimelineRows; ++row)
          expect_equal(known.bins()[i], known_nothing.bins()[i], row);
      }
    }
    if (HasFatalFailure()) return;
    if (end.since_start.count > 8 * 65536) ++runs;
  }
  EXPECT_GT(runs, 10);
}

/// Requests a second apart; the last one comes long after the others, and is too long to be served.
traces::Trace trace_with_a_late_refusal() {
  traces::Trace trace;
  for (int i = 0; i < 40; ++i) {
    trace.arrival_ns.push_back(i == 39 ? 86'400'000'000'000 : std::int64_t{i} * 1'000'000'000);
    trace.input_tokens.push_back(i == 39 ? 2'000'000 : 100 + 37 * i);
    trace.output_tokens.push_back(i % 5 == 0 ? 400 : 20);
  }
  return trace;
}

runs::RunResult run_of(const std::vector<std::string>& sets, std::int64_t bins, bool joined) {
  std::vector<runs::Setting> settings;
  for (const std::string& text : sets) settings.push_back(runs::parse_setting(text).value());
  runs::RunOptions options;
  options.timeline_bins = bins;
  options.timeline_joined = joined;
  return runs::run_scenario(runs::resolve(settings).value(), trace_with_a_late_refusal(), options).value();
}

TEST(Timeline, TheReportIsTheSameHoweverTheTimelineIsMade) {
  for (const std::vector<std::string>& sets : std::vector<std::vector<std::string>>{
           {"memory.pool_tokens=4000"},
           {"memory.pool_tokens=1600", "workload.rate_scale=20", "eviction=window:window=64"},
           {"memory.pool_tokens=5000", "fleet.replicas=3"},
           {"memory.pool_tokens=4000", "latency=affine:base_ns=0,token_ns=0,context_ns=0"}}) {
    SCOPED_TRACE(sets.back());
    const std::string plain = runs::report_json(run_of(sets, 0, false));
    EXPECT_EQ(runs::report_json(run_of(sets, 64, false)), plain);
    const runs::RunResult joined = run_of(sets, 64, true);
    EXPECT_EQ(runs::report_json(joined), plain);
    // Fewer bins than a run up to the refused request would have.
    EXPECT_GE(joined.rejected, 1);
    const bool timed = joined.makespan.count > 0;
    EXPECT_GT(joined.details.front().timeline.size(), timed ? 32U : 0U);
  }
}

/// For any number of bins, every state's least and greatest value of the whole run is in one bin, and the peak in the
/// report lies between the least and greatest value of the bin in which it occurs.
TEST(Timeline, NoNumberOfBinsLosesAPeak) {
  for (const std::vector<std::string>& sets : std::vector<std::vector<std::string>>{
           {"memory.pool_tokens=1600", "workload.rate_scale=20", "eviction=window:window=64"},
           {"memory.pool_tokens=3000", "workload.rate_scale=20", "memory.allocator=buddy:reserve=pow2",
            "engine.max_model_len=2048"}}) {
    const runs::RunResult one = run_of(sets, 1, false);
    const TimelineBin& whole = one.details.front().timeline.front();
    for (const std::int64_t bins : {2, 7, 64, 1000, 4096}) {
      SCOPED_TRACE(std::to_string(bins) + " bins");
      const runs::RunResult run = run_of(sets, bins, false);
      const runs::ReplicaDetails& replica = run.details.front();
      for (std::size_t row = 0; row < observe::kTimelineRows; ++row) {
        std::int64_t least = INT64_MAX;
        std::int64_t greatest = 0;
        for (const TimelineBin& bin : replica.timeline) {
          if (!bin.seen) continue;
          least = std::min(least, bin.least[row]);
          greatest = std::max(greatest, bin.greatest[row]);
        }
        EXPECT_EQ(least, whole.least[row]) << runs::timeline_row_name(row);
        EXPECT_EQ(greatest, whole.greatest[row]) << runs::timeline_row_name(row);
      }
      const auto holds_peak = [&](const TimelineBin& bin) {
        const runs::BinNumbers numbers = runs::bin_numbers(replica, bin);
        if (!bin.seen || seconds(bin.begin.since_start) > run.memory->peak_time_s ||
            seconds(bin.end.since_start) <= run.memory->peak_time_s)
          return false;
        for (std::size_t s = 0; s < observe::kStates; ++s)
          if (run.memory->peak_bytes[s] < numbers.least[s] || run.memory->peak_bytes[s] > numbers.greatest[s])
            return false;
        return true;
      };
      EXPECT_EQ(std::count_if(replica.timeline.begin(), replica.timeline.end(), holds_peak), 1);
      EXPECT_EQ(run.hole_bytes_peak,
                runs::bin_numbers(one.details.front(), whole).greatest[index(observe::State::kHole)]);
    }
  }
}

}  // namespace
}  // namespace kvplan
