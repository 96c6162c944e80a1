// Data that observers keep for requests in flight: compared with a map, with several observers that share the column
// of positions.
#include "simulator/observe/in_flight.h"

#include <gtest/gtest.h>

#include <map>

#include "simulator/base/random.h"

namespace kvplan::observe {
namespace {

TEST(InFlight, IsAMapThatTakesNoMoreThanWereThereAtOnce) {
  constexpr std::int64_t kRequests = 500;
  constexpr std::size_t kObservers = 3;
  Random random(1, "in flight");
  core::RequestPlaces places(kRequests, -1);
  std::vector<InFlight<std::vector<int>>> observers(kObservers, InFlight<std::vector<int>>(places));
  std::vector<std::map<RequestId, std::vector<int>>> expected(kObservers);
  std::int64_t entered = 0;
  for (int step = 0; step < 20'000; ++step) {
    const auto r = id_at<RequestId>(random.below(kRequests));
    const auto o = static_cast<std::size_t>(random.below(kObservers));
    bool elsewhere = false;
    for (std::size_t other = 0; other < kObservers; ++other)
      elsewhere = elsewhere || (other != o && expected[other].count(r) > 0);
    if (elsewhere) continue;  // a request is on one replica at a time
    const auto at = expected[o].find(r);
    ASSERT_EQ(observers[o].has(r), at != expected[o].end());
    if (at == expected[o].end()) {
      if (expected[o].size() >= 20) continue;
      std::vector<int>& value = observers[o].enter(r);
      ASSERT_TRUE(value.empty()) << "nothing is left of the request that had the place before";
      value.push_back(step);
      expected[o][r] = {step};
      ++entered;
    } else if (random.chance(1, 2)) {
      ASSERT_EQ(observers[o][r], at->second);
      observers[o][r].push_back(step);
      at->second.push_back(step);
    } else {
      observers[o].leave(r);
      expected[o].erase(at);
    }
    ASSERT_LE(observers[o].places(), 20U);
  }
  EXPECT_GT(entered, 300);
}

}  // namespace
}  // namespace kvplan::observe
