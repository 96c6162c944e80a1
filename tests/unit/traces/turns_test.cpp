// Waits between requests: the graph of turns, its cycles, and what sessions suggest.
#include "traces/record/turns.h"

#include <gtest/gtest.h>

#include <set>

#include "simulator/base/random.h"

namespace kvplan::traces {
namespace {

Waits waits_of(std::vector<std::pair<std::int32_t, std::int32_t>> pairs) {
  Waits waits;
  for (const auto& [request, before] : pairs) {
    waits.request.push_back(request);
    waits.before.push_back(before);
  }
  sort_waits(waits);
  return waits;
}

TEST(Turns, NoRequestWaits) {
  const Turns turns = turns_of({}, 5).value();
  EXPECT_FALSE(turns.present());
  EXPECT_EQ(turns.longest_chain, 0);
}

TEST(Turns, AGraphWithAJoin) {
  // 0 -> 1 -> 3, 0 -> 2 -> 3; 4 alone; 5 -> 6.
  const Turns turns = turns_of(waits_of({{1, 0}, {2, 0}, {3, 1}, {3, 2}, {6, 5}}), 7).value();
  EXPECT_EQ(turns.waits_for, (std::vector<std::int32_t>{0, 1, 1, 2, 0, 0, 1}));
  EXPECT_EQ(std::vector<std::int32_t>(turns.followers_of(0).begin(), turns.followers_of(0).end()),
            (std::vector<std::int32_t>{1, 2}));
  EXPECT_TRUE(turns.followers_of(3).empty());
  EXPECT_EQ(turns.group, (std::vector<std::int32_t>{0, 0, 0, 0, 4, 5, 5}));
  EXPECT_EQ(turns.longest_chain, 3);
}

TEST(Turns, OrderOfTheFileDoesNotMatter) {
  const Turns turns = turns_of(waits_of({{0, 2}, {2, 1}}), 3).value();
  EXPECT_EQ(turns.waits_for, (std::vector<std::int32_t>{1, 0, 1}));
  EXPECT_EQ(turns.longest_chain, 3);
}

TEST(Turns, WaitsBeyondTheLimitAreLeftOut) {
  const Turns turns = turns_of(waits_of({{1, 0}, {2, 4}, {3, 1}}), 3).value();
  EXPECT_EQ(turns.waits_for, (std::vector<std::int32_t>{0, 1, 0}));
}

TEST(Turns, ACircleNamesItsRequests) {
  const auto circle = turns_of(waits_of({{1, 0}, {2, 1}, {3, 2}, {1, 3}}), 5);
  ASSERT_FALSE(circle.ok());
  EXPECT_EQ(circle.error().message,
            "requests wait for each other in a circle: request 1 before 2 before 3 before 1");
  const auto self = turns_of(waits_of({{2, 2}}), 5);
  ASSERT_FALSE(self.ok());
  EXPECT_EQ(self.error().message, "requests wait for each other in a circle: request 2 waits for itself");
  std::vector<std::pair<std::int32_t, std::int32_t>> ring;
  for (std::int32_t r = 0; r < 100'000; ++r) ring.emplace_back(r, (r + 99'999) % 100'000);
  const auto many = turns_of(waits_of(ring), 100'000);
  ASSERT_FALSE(many.ok());
  EXPECT_NE(many.error().message.find("99992 more before 0"), std::string::npos) << many.error().message;
}

/// Groups, chains and cycles, compared with walking the pairs until nothing changes.
TEST(Turns, EqualsTheNaiveDefinition) {
  std::int64_t circles = 0;
  std::int64_t chains = 0;
  for (std::uint64_t seed = 1; seed <= 1200; ++seed) {
    Random random(seed, "turns");
    const std::int64_t n = random.between(1, 12);
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    for (std::int64_t k = random.between(0, 14); k > 0; --k) {
      const auto a = static_cast<std::int32_t>(random.between(0, n - 1));
      const auto b = static_cast<std::int32_t>(random.between(0, n - 1));
      pairs.emplace_back(random.chance(9, 10) ? std::max(a, b) : a,
                         random.chance(9, 10) ? std::min(a, b) : b);
    }
    // A chain longer than the number of requests is a cycle.
    std::vector<std::int64_t> chain(static_cast<std::size_t>(n), 1);
    std::vector<std::int32_t> group(static_cast<std::size_t>(n));
    for (std::size_t r = 0; r < group.size(); ++r) group[r] = static_cast<std::int32_t>(r);
    for (std::int64_t round = 0; round <= n; ++round)
      for (const auto& [request, before] : pairs) {
        std::int64_t& length = chain[static_cast<std::size_t>(request)];
        length = std::max(length, chain[static_cast<std::size_t>(before)] + 1);
        std::int32_t& a = group[static_cast<std::size_t>(request)];
        std::int32_t& b = group[static_cast<std::size_t>(before)];
        a = b = std::min(a, b);
      }
    const std::int64_t longest = *std::max_element(chain.begin(), chain.end());
    const auto turns = turns_of(waits_of(pairs), n);
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_EQ(turns.ok(), longest <= n);
    if (!turns.ok()) {
      ++circles;
      continue;
    }
    if (pairs.empty()) continue;
    ++chains;
    ASSERT_EQ(turns.value().longest_chain, longest);
    ASSERT_EQ(turns.value().group, group);
    const std::set<std::pair<std::int32_t, std::int32_t>> once(pairs.begin(), pairs.end());
    ASSERT_EQ(turns.value().followers.size(), once.size());
  }
  EXPECT_GT(circles, 20);
  EXPECT_GT(chains, 100);
}

Trace session_trace(std::vector<std::array<std::int64_t, 3>> rows) {  // session, arrival, e2e
  Trace trace;
  for (const auto& [session, arrival, took] : rows) {
    trace.session.push_back(static_cast<std::int32_t>(session));
    trace.arrival_ns.push_back(arrival);
    trace.e2e_ns.push_back(took);
    trace.input_tokens.push_back(1);
    trace.output_tokens.push_back(1);
  }
  trace.session_names = {"a", "b"};
  return trace;
}

TEST(SessionWaits, OneAfterTheOther) {
  const Trace trace = session_trace({{0, 0, 5}, {1, 1, 1}, {0, 9, 1}, {-1, 9, 1}, {0, 30, 2}, {1, 31, 3}});
  const Waits waits = session_waits(trace, trace.size());
  const Waits expected = waits_of({{2, 0}, {4, 2}, {5, 1}});
  EXPECT_EQ(waits.request, expected.request);
  EXPECT_EQ(waits.before, expected.before);
}

TEST(SessionWaits, WhatRanSideBySideStaysSo) {
  // 1 and 2 start together after 0; 3 starts when both have ended; 4 while 3 runs.
  const Trace trace = session_trace({{0, 0, 10}, {0, 10, 20}, {0, 12, 30}, {0, 50, 10}, {0, 55, 1}});
  const Waits waits = session_waits(trace, trace.size());
  const Waits expected = waits_of({{1, 0}, {2, 0}, {3, 1}, {3, 2}, {4, 1}, {4, 2}});
  EXPECT_EQ(waits.request, expected.request);
  EXPECT_EQ(waits.before, expected.before);
}

TEST(SessionWaits, StatedOnesStay) {
  Trace trace = session_trace({{0, 0, -1}, {0, 1, -1}, {0, 2, -1}});
  trace.waits = waits_of({{2, 0}});
  const Waits expected = waits_of({{1, 0}, {2, 0}});
  EXPECT_EQ(session_waits(trace, 3).request, expected.request);
  EXPECT_EQ(session_waits(trace, 3).before, expected.before);
}

/// Ten thousand requests at once, then the same number again: this must not give a hundred million pairs.
TEST(SessionWaits, ManySideBySideStayFew) {
  std::vector<std::array<std::int64_t, 3>> rows;
  for (std::int64_t i = 0; i < 10'000; ++i) rows.push_back({0, i, 20'000});
  for (std::int64_t i = 0; i < 10'000; ++i) rows.push_back({0, 50'000 + i, 20'000});
  const Trace trace = session_trace(rows);
  EXPECT_EQ(session_waits(trace, trace.size()).size(), 10'000U + 9'999U * 64U);
}

}  // namespace
}  // namespace kvplan::traces
