// Bins: against a brute force over every step, and bins that were joined on the way against bins that knew
// the end.
#include <gtest/gtest.h>

#include "simulator/observe/integral.h"
#include "simulator/observe/timeline.h"
#include "tests/support/random_case.h"

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
  const core::ReplicaRun run{.workload = &c.workload,
                             .requests = c.workload.order,
                             .scheduler = c.scheduler,
                             .keep = c.keep,
                             .allocator = allocator.value().get(),
                             .latency = c.latency.get(),
                             .observers = observers};
  EXPECT_TRUE(core::run_fast(run).ok());
  return spans.all;
}

SimTime end_of(const LedgerSpan& span) {
  return span.begin + Ticks{static_cast<std::int64_t>(span.series.span(span.series.steps))};
}

/// The live row of one bin, step by step.
TimelineBin brute(const std::vector<LedgerSpan>& spans, SimTime begin, SimTime end, std::size_t row) {
  TimelineBin bin;
  for (const LedgerSpan& span : spans)
    for (std::int64_t k = 0; k < span.series.steps; ++k) {
      const SimTime from =
          std::max(begin, span.begin + Ticks{static_cast<std::int64_t>(span.series.span(k))});
      const SimTime to =
          std::min(end, span.begin + Ticks{static_cast<std::int64_t>(span.series.span(k + 1))});
      if (from >= to) continue;
      const std::int64_t value = span.cells[row] + k * span.growth[row];
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

TEST(Timeline, EqualsBruteForceAndJoinsExactly) {
  int joined_runs = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto c = test::draw_case(seed);
    // Longer than the narrowest bins, so that joining happens.
    for (SimTime& t : c->workload.arrival) t = SimTime{Ticks{t.since_start.count * 3}};
    const std::vector<LedgerSpan> spans = spans_of(*c);
    if (spans.empty() || end_of(spans.back()) == SimTime{}) continue;
    const SimTime end = end_of(spans.back());
    Timeline equal(end, 9);
    Timeline joined = Timeline::joined(8);
    for (const LedgerSpan& span : spans) {
      equal.on_span(span);
      joined.on_span(span);
    }
    joined.end_at(end);
    for (const auto row :
         {index(observe::State::kLive), index(observe::State::kHole), index(observe::State::kFree)}) {
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

}  // namespace
}  // namespace kvplan
