// Reports read back as runs: the numbers are equal, and impossible ones are rejected.
#include <gtest/gtest.h>

#include <limits>

#include "proto/document.pb.h"
#include "proto/report.pb.h"
#include "simulator/io/attention_json.h"
#include "simulator/io/report_message.h"
#include "simulator/io/report_result.h"
#include "simulator/io/report_timeline.h"
#include "simulator/report/text.h"
#include "simulator/results/figures.h"
#include "simulator/study/answer.h"
#include "simulator/study/shortage.h"
#include "tests/unit/io/document_support.h"
#include "tests/unit/report/cases.h"

namespace kvplan::io {
namespace {

using Bins = std::vector<std::pair<std::int64_t, runs::BinNumbers>>;

Result<ReportedRun> read(std::string_view bytes, Bins& bins) {
  traces::Input input = testing::input_of(bytes);
  return read_reported_run(input, [&](std::int64_t replica, const runs::BinNumbers& bin) -> Status {
    bins.emplace_back(replica, bin);
    return Done{};
  });
}

std::string error_of(std::string_view bytes) {
  Bins bins;
  const auto run = read(bytes, bins);
  return run.ok() ? "no error" : run.error().to_string();
}

runs::RunResult sample(std::int64_t replicas, std::int64_t bins) {
  auto settings = report::testing::small_settings();
  settings.push_back({"fleet.replicas", std::to_string(replicas), {}, 0});
  return report::testing::result_of(settings, report::testing::small_trace(), bins);
}

void expect_same(const std::optional<runs::LatencySummary>& a, const std::optional<runs::LatencySummary>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  if (!a) return;
  EXPECT_EQ(a->mean, b->mean);
  EXPECT_EQ(a->p50, b->p50);
  EXPECT_EQ(a->p99, b->p99);
  EXPECT_EQ(a->max, b->max);
}

void expect_numbers(const runs::RunSummary& read, const runs::RunSummary& run) {
  EXPECT_EQ(read.arrived, run.arrived);
  EXPECT_EQ(read.completed, run.completed);
  EXPECT_EQ(read.rejected, run.rejected);
  EXPECT_EQ(read.preemptions, run.preemptions);
  EXPECT_EQ(read.iterations, run.iterations);
  EXPECT_EQ(read.prefix_hit_tokens, run.prefix_hit_tokens);
  EXPECT_EQ(read.mean_running, run.mean_running);
  EXPECT_EQ(read.output_tokens_per_s, run.output_tokens_per_s);
  EXPECT_EQ(read.slo_met_fraction, run.slo_met_fraction);
  EXPECT_EQ(read.slo_met, run.slo_met);
  EXPECT_EQ(read.percentiles, run.percentiles);
  EXPECT_EQ(read.starts, run.starts);
  EXPECT_EQ(read.obstacles, run.obstacles);
  EXPECT_EQ(read.unhindered, run.unhindered);
  ASSERT_TRUE(read.saturation && run.saturation);
  EXPECT_EQ(read.saturation->saturated, run.saturation->saturated);
  EXPECT_EQ(read.saturation->backlog, run.saturation->backlog);
  EXPECT_NEAR(seconds(read.saturation->drain), seconds(run.saturation->drain), 1e-9);
  EXPECT_EQ(read.capacity_bytes, run.capacity_bytes);
  EXPECT_EQ(read.warnings, run.warnings);
  EXPECT_NEAR(seconds(read.makespan), seconds(run.makespan), 1e-9);
  expect_same(read.ttft, run.ttft);
  expect_same(read.tpot, run.tpot);
  EXPECT_EQ(read.scenario.texts, run.scenario.texts);
  EXPECT_EQ(read.scenario.sources, run.scenario.sources);
}

TEST(ReportedRun, HasTheNumbersAndBinsOfTheRun) {
  for (const std::int64_t replicas : {1, 3})
    for (const std::int64_t count : {0, 7, 5000}) {
      const runs::RunResult run = sample(replicas, count);
      Bins bins;
      const auto reported = read(testing::report_bytes(run, true), bins);
      ASSERT_TRUE(reported.ok()) << reported.error().to_string();
      expect_numbers(reported.value().run, run);
      ASSERT_EQ(bins.size(), static_cast<std::size_t>(replicas * count));
      std::size_t at = 0;
      for (std::size_t r = 0; r < run.replicas.size(); ++r)
        for (const observe::TimelineBin& bin : run.details[r].timeline) {
          const runs::BinNumbers expected = runs::bin_numbers(run.details[r], bin);
          const auto& [replica, found] = bins[at++];
          ASSERT_EQ(replica, static_cast<std::int64_t>(r));
          ASSERT_EQ(found.begin_ns, expected.begin_ns);
          ASSERT_EQ(found.end_ns, expected.end_ns);
          ASSERT_EQ(found.mean, expected.mean);
          ASSERT_EQ(found.least, expected.least);
          ASSERT_EQ(found.greatest, expected.greatest);
        }
      // From JSON only the numbers.
      Bins none;
      const auto from_json = read(runs::report_json(run), none);
      ASSERT_TRUE(from_json.ok()) << from_json.error().to_string();
      expect_numbers(from_json.value().run, run);
      EXPECT_TRUE(none.empty());
    }
}

std::string shown(const runs::RunSummary& run) {
  return report::content_text(report::run_content(run), 100);
}

/// A report that is read and written again is unchanged; so is all that is printed from it.
void expect_complete(const std::vector<runs::Setting>& more, const traces::Trace& trace,
                     const std::shared_ptr<const attention::Recording>& recording = nullptr) {
  auto settings = report::testing::small_settings();
  std::string called;
  for (const runs::Setting& setting : more) {
    settings.push_back(setting);
    called += setting.path + "=" + setting.text + " ";
  }
  SCOPED_TRACE(called);
  runs::RunOptions options;
  options.open_recording = [&](const std::string&) -> Result<std::shared_ptr<const attention::Recording>> {
    return recording;
  };
  const auto ran = runs::run_scenario(report::testing::scenario_of(settings), trace, options);
  ASSERT_TRUE(ran.ok()) << ran.error().to_string();
  const runs::RunResult& run = ran.value();
  for (const std::string& file : {runs::report_json(run), testing::report_bytes(run, false)}) {
    Bins none;
    const auto stored = read(file, none);
    ASSERT_TRUE(stored.ok()) << stored.error().to_string();
    EXPECT_EQ(runs::report_json(stored.value().run), runs::report_json(run));
    EXPECT_EQ(runs::gpus_of(stored.value().run), runs::gpus_of(run));
    EXPECT_EQ(runs::shortage_of(stored.value().run), runs::shortage_of(run));
    EXPECT_EQ(shown(stored.value().run), shown(run));
    for (const runs::Figure& figure : runs::figures())
      EXPECT_EQ(figure.value(stored.value().run), figure.value(run)) << figure.name;
  }
}

TEST(ReportedRun, IsCompleteOnReadingBack) {
  using Settings = std::vector<runs::Setting>;
  const auto set = [](const char* path, const char* text) { return runs::Setting{path, text, {}, 0}; };
  const traces::Trace trace = report::testing::small_trace();
  const runs::Setting none = set("memory.pool_blocks", "none");
  const runs::Setting latency = set("latency", "affine:base_ns=1234567,token_ns=333.3,context_ns=0.7");
  for (const Settings& more : {
           Settings{},
           Settings{set("fleet.replicas", "3"), latency},
           Settings{set("engine", "sglang"), latency},
           Settings{set("memory.allocator", "contiguous:fit=best,reserve=pow2"), none,
                    set("memory.pool_tokens", "500")},
           Settings{set("memory.allocator", "growing"), none, set("memory.pool_tokens", "500"), latency},
           Settings{set("memory.allocator", "no-cache"), none, set("memory.pool_bytes", "100000000")},
           Settings{set("model", "gemma-3-27b"), set("memory.allocator", "grouped"), latency},
           Settings{set("eviction", "window:window=7,placement=holes"), set("format", "int8")},
           Settings{set("eviction", "h2o:hh=4,recent=4,placement=compact"), latency},
           Settings{set("model", "llama-3-70b"), set("deployment.device", "h100-sxm"), none,
                    set("latency", "composed"), set("deployment.tp", "8"), set("deployment.pp", "2"),
                    set("targets.ttft_s", "0.5"), set("targets.tpot_s", "0.05"),
                    set("targets.percentiles_s", "ttft.p99.9=0.5,e2e.p50=1e-9")},
           Settings{set("targets.percentiles_s", "tpot.p100=2"), set("targets.from_s", "1000")},
           Settings{set("model", "llama-3-8b"), set("deployment.tp", "16"), set("format", "int4")},
           Settings{set("workload.limit", "0")},
       })
    expect_complete(more, trace);
  expect_complete({set("workload.attention", "r.kva"), set("eviction", "tova:budget=6"),
                   set("model", "recording"), set("workload.limit", "2")},
                  trace,
                  io::open_attention(KVPLAN_SOURCE_DIR "/tests/golden/policies/inputs/A.json").value());
}

TEST(ReportedRun, HasObstaclesAndCost) {
  runs::RunResult run = sample(1, 0);
  run.starts = false;
  run.obstacles = {{model::kNoRoom, 30, 20, Unit::kBytes, {"deployment.tp=2", "deployment.weight_bits=8"}},
                   {model::kLongestRequest, 10, 9, Unit::kBlocks, {}}};
  run.cost = runs::Cost{7, 12.5, "USD", {}};
  Bins none;
  for (const std::string& text : {runs::report_json(run), testing::report_bytes(run, false)}) {
    const auto reported = read(text, none);
    ASSERT_TRUE(reported.ok()) << reported.error().to_string();
    expect_numbers(reported.value().run, run);
    ASSERT_TRUE(reported.value().run.cost.has_value());
    EXPECT_EQ(reported.value().run.cost->nodes, 7);
    EXPECT_EQ(reported.value().run.cost->per_hour, 12.5);
    EXPECT_EQ(reported.value().run.cost->currency, "USD");
  }
}

TEST(ReportedRun, EveryTruncationIsOneLine) {
  const std::string bytes = testing::report_bytes(sample(2, 3), true);
  EXPECT_EQ(error_of(bytes), "no error");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string error = error_of(std::string_view(bytes).substr(0, size));
    ASSERT_EQ(error.substr(0, 4), "file") << error;
    ASSERT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

/// A file of correct frames around messages that were changed.
std::string changed(const std::function<void(v1::Report&, v1::TimelineChunk&)>& change) {
  const runs::RunResult run = sample(1, 3);
  v1::Report report;
  v1::TimelineChunk chunk;
  EXPECT_TRUE(fill_message(run, report).ok());
  fill_message(run, 0, 0, 3, chunk);
  change(report, chunk);
  v1::DocumentHeader header;
  header.set_version(kDocumentVersion);
  v1::DocumentTail tail;
  tail.set_frames(3);
  return testing::framed(DocumentKind::kReport, {{"HEAD", header.SerializeAsString()},
                                                 {"BODY", report.SerializeAsString()},
                                                 {"time", chunk.SerializeAsString()},
                                                 {"TAIL", tail.SerializeAsString()}});
}

TEST(ReportedRun, NumbersThatNoRunHasAreErrors) {
  const auto error = [](const std::function<void(v1::Report&, v1::TimelineChunk&)>& change) {
    return error_of(changed(change));
  };
  EXPECT_EQ(error([](v1::Report&, v1::TimelineChunk&) {}), "no error");
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  };
  has(error([](auto& report, auto&) { report.set_makespan_s(kNan); }), "makespan_s");
  has(error([](auto& report, auto&) { report.set_makespan_s(1e12); }), "makespan_s");
  has(error([](auto& report, auto&) { report.mutable_latency_s()->mutable_ttft()->set_p99(-1); }),
      "latency_s.ttft");
  has(error([](auto& report, auto&) { report.mutable_memory()->set_capacity_bytes(INT64_MAX); }),
      "memory.capacity_bytes");
  has(error([](auto& report, auto&) { report.mutable_memory()->mutable_mean_bytes()->set_live(-1); }),
      "memory.mean_bytes");
  has(error([](auto& report, auto&) {
        report.mutable_replicas(0)->mutable_memory()->mutable_peak()->mutable_bytes()->set_free(-1);
      }),
      "replicas.memory.peak.bytes");
  has(error([](auto& report, auto&) { report.mutable_deployment()->set_tensor_parallel(INT64_MAX); }),
      "deployment.tensor_parallel");
  has(error([](auto& report, auto&) { report.mutable_placement()->set_delay_s(kNan); }), "placement.delay_s");
  has(error([](auto& report, auto&) { report.mutable_deployment()->add_derivation()->set_part("gone"); }),
      "deployment.derivation.part");
  has(error([](auto& report, auto&) { report.mutable_scenario()->mutable_engine()->set_name("none-such"); }),
      "none-such");
  has(error([](auto&, auto& chunk) { chunk.mutable_rows(1)->set_mean(0, kNan); }), "row \"live\"");
  has(error([](auto&, auto& chunk) { chunk.mutable_rows(1)->set_greatest_step(0, INT64_MAX); }),
      "row \"live\"");
  has(error([](auto&, auto& chunk) { chunk.mutable_rows(9)->set_least_step(0, -1); }), "row \"free\"");
  has(error([](auto&, auto& chunk) { chunk.set_begin_ns(1); }), "at 0 ns");
  has(error([](auto&, auto& chunk) { chunk.set_length_ns(2, std::int64_t{1} << 53); }), "2^52 ns");
  has(error([](auto&, auto& chunk) { chunk.mutable_rows(1)->set_name("alive"); }), "expected a row \"live\"");
}

TEST(ReportedRun, WhatTheVisitorSaysEndsIt) {
  const std::string bytes = testing::report_bytes(sample(1, 3), true);
  traces::Input input = testing::input_of(bytes);
  const auto run = read_reported_run(
      input, [](std::int64_t, const runs::BinNumbers&) -> Status { return interrupted_error(); });
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().kind, ErrorKind::kInterrupted);
}

}  // namespace
}  // namespace kvplan::io
