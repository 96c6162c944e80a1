// The replay finds the simulator's bytes equal at every event, whatever it runs on, and finds every change of
// a log that changes what the log says.
#include <gtest/gtest.h>

#include <sstream>

#include <map>

#include "simulator/io/log/reader.h"
#include "tests/validator/mutations.h"
#include "tests/validator/run_log.h"
#include "validator/device/device.h"
#include "validator/replay/replay.h"

namespace kvplan {
namespace {

using test::LogCase;
using test::Stepping;
using validator::Backend;
using validator::Report;

/// The report, or an error of the backend as its first problem.
Report replay(const test::WholeLog& log, Backend& backend, std::int64_t full_scan_every = 1) {
  auto created = validator::Replay::create(log.header, backend, {.full_scan_every = full_scan_every});
  Report failed;
  if (!created.ok()) {
    failed.first_problem = created.error().to_string();
    return failed;
  }
  for (const auto& record : log.records) {
    const auto status = created.value()->apply(record);
    if (status.ok()) continue;
    failed.first_problem = status.error().to_string();
    return failed;
  }
  return created.value()->finish().value();
}

Report replay(const test::WholeLog& log, std::int64_t full_scan_every = 1) {
  const auto host = validator::make_host_backend();
  return replay(log, *host, full_scan_every);
}

TEST(Replay, BytesAreEqualAtEveryEvent) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const traces::Trace trace = test::random_trace(seed);
    for (const LogCase& c : test::small_cases()) {
      const auto log = test::read_log(test::log_of_run(trace, c, Stepping::kFast));
      const Report report = replay(log);
      ASSERT_EQ(report.first_problem, "") << c.name << ", seed " << seed;
      EXPECT_EQ(report.byte_mismatches + report.place_mismatches + report.count_mismatches, 0);
      EXPECT_EQ(report.events, static_cast<std::int64_t>(log.records.size()));
      EXPECT_GT(report.moments, 0);
      EXPECT_EQ(report.full_scans, report.moments + 1);
    }
  }
}

/// Does the reader take the log? A number out of its range never reaches the replay.
bool readable(const test::WholeLog& log) {
  auto reader =
      event_log::Reader::open(std::make_unique<std::istringstream>(test::write_log(log)), "changed.kve");
  if (!reader.ok()) return false;
  while (true) {
    const auto record = reader.value()->next();
    if (!record.ok()) return false;
    if (!record.value()) return true;
  }
}

TEST(Replay, EveryMutationIsFound) {
  std::map<std::string, int> done;
  int found = 0;
  for (const LogCase& c : test::small_cases()) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const auto log = test::read_log(test::log_of_run(test::random_trace(seed), c, Stepping::kFast));
      Random random(seed, c.name);
      for (const test::Mutation& mutation : test::mutations()) {
        auto changed = log;
        std::string what;
        if (!mutation.apply(changed, random, what)) continue;
        ++done[mutation.name];
        const bool noticed = !replay(changed, 64).clean() || !readable(changed);
        if (noticed) ++found;
        EXPECT_TRUE(noticed) << mutation.name << " (" << what << ") in " << c.name << ", seed " << seed;
      }
    }
  }
  for (const test::Mutation& mutation : test::mutations())
    EXPECT_GE(done[mutation.name], 3) << mutation.name << " was hardly tried";
  std::printf("%d mutations were found\n", found);
}

}  // namespace
}  // namespace kvplan
