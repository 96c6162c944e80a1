// A run held against measurements: a cause that was planted is found.
#include "simulator/measured/check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "simulator/results/figures.h"
#include "tests/unit/report/cases.h"
#include "tests/unit/traces/support.h"
#include "traces/import/open_trace.h"

namespace kvplan::measured {
namespace {

using Settings = std::vector<runs::Setting>;

/// 300 requests of the bundled chat trace, which come fast enough that some wait.
runs::RunResult run(std::vector<std::pair<std::string, std::string>> more) {
  static const traces::Trace kTrace =
      traces::open_trace(KVPLAN_SOURCE_DIR "/traces/samples/chat.kvt").value();
  Settings settings{{"workload.limit", "300", {}, 0},
                    {"workload.rate_scale", "20", {}, 0},
                    {"deployment.device", "h100-sxm", {}, 0},
                    {"engine.max_seqs", "32", {}, 0}};
  for (auto& [path, value] : more) settings.push_back({path, value, {}, 0});
  return report::testing::result_of(settings, kTrace, 0);
}

/// What a benchmark of this run would have written, and the server's log.
std::vector<Measured> measured_on(const runs::RunResult& server) {
  std::vector<Measured> out;
  for (const char* name : {"latency_s.ttft.mean", "latency_s.tpot.mean", "latency_s.e2e.p50",
                           "throughput.output_tokens_per_s", "requests.completed", "tokens.input"})
    out.push_back({name, runs::number_of(runs::figure_named(name).value(server)).value()});
  const core::MemoryLayout& layout = server.details.front().layout;
  out.push_back(
      {std::string(kPoolTokens), static_cast<double>((layout.alloc_units + 1) * layout.alloc_unit_tokens)});
  return out;
}

Check checked(std::vector<std::pair<std::string, std::string>> ours,
              std::vector<std::pair<std::string, std::string>> servers) {
  return check_run(run(std::move(ours)), measured_on(run(std::move(servers)))).value();
}

TEST(CheckRun, NothingErrsAgainstItself) {
  const Check check = checked({}, {});
  ASSERT_EQ(check.quantities.size(), 7U);
  for (const Quantity& quantity : check.quantities) EXPECT_EQ(quantity.error, 0) << quantity.name;
  EXPECT_EQ(check.cause, Cause::kNone) << check.why;
  EXPECT_TRUE(check.warnings.empty());
}

TEST(CheckRun, PlantedCausesAreFound) {
  using Changes = std::vector<std::pair<std::string, std::string>>;
  const std::string composed = "composed:";
  const struct {
    Changes ours, servers;
    Cause cause;
  } kPlanted[] = {
      {{}, {{"latency", composed + "overhead_ns=5000000"}}, Cause::kStep},
      {{{"latency", composed + "overhead_ns=5000000"}}, {}, Cause::kStep},
      {{}, {{"latency", composed + "request_ns=2e9"}}, Cause::kOutside},
      {{{"latency", composed + "request_ns=2e9"}}, {}, Cause::kOutside},
      {{}, {{"engine.max_seqs", "8"}}, Cause::kSchedulerLimit},
      {{{"engine.max_seqs", "8"}}, {}, Cause::kSchedulerLimit},
      {{{"memory.pool_tokens", "16000"}}, {{"memory.pool_tokens", "12000"}}, Cause::kPool},
      {{{"memory.pool_tokens", "12000"}}, {{"memory.pool_tokens", "16000"}}, Cause::kPool},
  };
  for (const auto& [ours, servers, cause] : kPlanted) {
    const Check check = checked(ours, servers);
    EXPECT_EQ(check.cause, cause) << cause_name(check.cause) << ": " << check.why;
    EXPECT_FALSE(check.why.empty());
  }
}

TEST(CheckRun, AnotherWorkloadIsSaid) {
  const Check check = checked({}, {{"workload.limit", "200"}});
  ASSERT_EQ(check.warnings.size(), 2U);
  EXPECT_EQ(check.warnings[0],
            "The run served another workload: requests.completed is 300, and 200 was measured.");
}

TEST(CheckRun, AQuantityIsMeasuredOnce) {
  const auto check = check_run(run({}), {{"latency_s.ttft.mean", 1}, {"latency_s.ttft.mean", 1}});
  ASSERT_FALSE(check.ok());
  EXPECT_EQ(check.error().to_string(), "--measured: two files measured latency_s.ttft.mean");
}

TEST(CheckRun, ZeroHasNoError) {
  EXPECT_FALSE(quantity_of("x", 1.0, 0).error);
  EXPECT_FALSE(quantity_of("x", std::nullopt, 1).error);
  EXPECT_DOUBLE_EQ(quantity_of("x", 3.0, 2).error.value(), 0.5);
}

}  // namespace
}  // namespace kvplan::measured
