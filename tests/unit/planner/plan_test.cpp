// Plans of small traces: equal to trying every case, the same for any number of threads, resumed after any end, and
// mistakes that say what would help.
#include <gtest/gtest.h>

#include <random>

#include "simulator/planner/database_store.h"
#include "simulator/planner/plan_json.h"
#include "simulator/planner/plan_text.h"
#include "simulator/planner/planner.h"
#include "tests/unit/report/cases.h"
#include "tests/unit/traces/support.h"

namespace kvplan::planner {
namespace {

using traces::testing::TemporaryFolder;

/// A trace with a calm and a busy half.
traces::Trace drawn_trace(std::uint32_t seed, int requests) {
  std::mt19937 random(seed);
  std::string rows = "arrival_ns,input_tokens,output_tokens\n";
  std::int64_t at = 0;
  for (int i = 0; i < requests; ++i) {
    const std::int64_t gap = i < requests / 2 ? 12'000'000 : 4'000'000;
    at += static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * gap));
    rows += std::to_string(at) + "," + std::to_string(20 + random() % 400) + "," +
            std::to_string(1 + random() % 60) + "\n";
  }
  return traces::testing::import_text(rows).value();
}

std::vector<runs::Setting> small_settings() {
  return {{"workload.trace", "drawn", {}, 0},
          {"memory.pool_tokens", "4000", {}, 0},
          {"latency", "affine:base_ns=4000000,token_ns=30000,context_ns=300", {}, 0},
          {"targets.percentiles_s", "ttft.p95=0.2,tpot.p90=0.02", {}, 0}};
}

PlanRequest small_request(const traces::Trace& trace) {
  PlanRequest request;
  request.settings = small_settings();
  request.most_gpus = 16;
  request.resamples = 6;
  runs::InputReaders readers;
  readers.read_trace = [&trace](const runs::Scenario&) -> Result<traces::Trace> { return trace; };
  request.inputs = std::make_shared<runs::Inputs>(std::move(readers));
  for (const char* vary : {"engine.max_seqs=4;8;16;64", "engine.token_budget=256;512;2048;8192",
                           "memory.allocator.block_tokens=16;64"})
    request.may.push_back(runs::parse_vary(vary).value());
  return request;
}

Plan plan_of(const PlanRequest& request) {
  auto plan = make_plan(request);
  EXPECT_TRUE(plan.ok()) << plan.error().to_string();
  return plan.ok() ? std::move(plan).value() : Plan{};
}

std::string error_of(const PlanRequest& request) {
  const auto plan = make_plan(request);
  return plan.ok() ? "no error" : plan.error().to_string();
}

/// The best of all 512 cases, without the search.
std::optional<Found> by_trying_everything(const PlanRequest& request, const traces::Trace& trace) {
  SpaceOptions options;
  options.settings = request.settings;
  options.settings.push_back({"engine.max_model_len", "1024", {}, 0});
  options.rates = request.rates;
  options.tensor_ranks = {"1"};
  options.stages = {"1"};
  options.may = request.may;
  // The scenario's own values come first, as in plans.
  for (runs::Vary& vary : options.may) {
    const std::string own = vary.path == "engine.max_seqs"       ? "256"
                            : vary.path == "engine.token_budget" ? "8192"
                                                                 : "16";
    std::erase(vary.values, own);
    vary.values.insert(vary.values.begin(), own);
  }
  options.most_gpus = request.most_gpus;
  const Space space = Space::of(options).value();
  EXPECT_GE(space.shapes() * 16, 500U);
  std::optional<Found> best;
  for (std::size_t shape = 0; shape < space.shapes(); ++shape) {
    for (std::int64_t replicas = 1; replicas <= request.most_gpus; ++replicas) {
      const auto scenario = runs::resolve(space.settings("1", shape, replicas));
      EXPECT_TRUE(scenario.ok());
      const auto result = runs::run_scenario(scenario.value(), trace, {});
      if (!result.ok() || !result.value().slo_met.value_or(false)) continue;
      const std::vector<Target> targets = targets_of(scenario.value(), {});
      const Found found{shape, replicas, replicas, static_cast<double>(replicas),
                        tightness(targets, values_of(result.value(), targets))};
      if (!best || better(found, *best)) best = found;
    }
  }
  return best;
}

TEST(Plan, IsAsGoodAsTryingEveryCase) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    const traces::Trace trace = drawn_trace(seed, 120);
    const PlanRequest request = small_request(trace);
    const auto wanted = by_trying_everything(request, trace);
    ASSERT_TRUE(wanted);
    const Plan plan = plan_of(request);
    ASSERT_EQ(plan.rates.size(), 1U);
    ASSERT_TRUE(plan.rates[0].best);
    EXPECT_EQ(plan.rates[0].best->gpus, wanted->gpus) << "seed " << seed;
    double tightest = 0;
    for (const TargetOutcome& each : plan.rates[0].best->targets)
      tightest = std::max(tightest, tightness(each.target, each.value));
    EXPECT_EQ(tightest, wanted->tightness) << "seed " << seed;
  }
}

TEST(Plan, SameBytesForAnyNumberOfThreads) {
  const traces::Trace trace = drawn_trace(3, 120);
  PlanRequest request = small_request(trace);
  request.rates = {"1", "3/2"};
  const Plan one = plan_of(request);
  EXPECT_EQ(one.rates.size(), 2U);
  for (const int threads : {2, 5}) {
    request.threads = threads;
    const Plan many = plan_of(request);
    EXPECT_EQ(plan_json(many), plan_json(one));
    EXPECT_EQ(plan_text(many, 100, true), plan_text(one, 100, true));
  }
}

TEST(Plan, SlicesFindTheSameReplicas) {
  const traces::Trace trace = drawn_trace(4, 600);
  PlanRequest request = small_request(trace);
  const Plan whole = plan_of(request);
  request.slice_from = 100;
  const Plan sliced = plan_of(request);
  ASSERT_TRUE(whole.rates[0].best && sliced.rates[0].best);
  EXPECT_EQ(sliced.rates[0].best->gpus, whole.rates[0].best->gpus);
}

TEST(Plan, WhatSurroundsTheAnswerIsWhatItSays) {
  const traces::Trace trace = drawn_trace(5, 200);
  const PlanRequest request = small_request(trace);
  const Plan plan = plan_of(request);
  const RatePlan& rate = plan.rates.front();
  ASSERT_TRUE(rate.best && rate.fewer && rate.more && rate.headroom);
  EXPECT_TRUE(rate.best->meets);
  EXPECT_FALSE(rate.fewer->meets);
  EXPECT_EQ(rate.fewer->gpus, rate.best->gpus - 1);
  EXPECT_TRUE(rate.more->meets);
  const auto meets_at = [&](const std::string& scale) {
    std::vector<runs::Setting> settings = rate.best->settings;
    settings.push_back({"workload.rate_scale", scale, {}, 0});
    return runs::run_scenario(runs::resolve(settings).value(), trace, {}).value().slo_met.value();
  };
  const auto percent = static_cast<std::int64_t>(std::lround(rate.headroom->rate_scale * 100));
  EXPECT_TRUE(meets_at(std::to_string(percent) + "/100"));
  if (!rate.headroom->at_least) {
    EXPECT_FALSE(meets_at(std::to_string(percent + 1) + "/100"));
  }
  ASSERT_EQ(rate.day.size(), 24U);
  std::int64_t most = 0;
  for (const DayPart& part : rate.day) most = std::max(most, part.gpus);
  EXPECT_LE(most, rate.best->gpus);
  EXPECT_GT(most, 0);
  EXPECT_EQ(rate.baselines.size(), 3U);
  ASSERT_EQ(rate.constraint_prices.size(), 2U);
  for (const ConstraintPrice& price : rate.constraint_prices) EXPECT_GE(price.saves_gpus, 0);
  double shares = 0;
  for (const Binding& each : rate.binding) shares += each.share;
  if (!rate.binding.empty()) {
    EXPECT_NEAR(shares, 1, 1e-9);
  }
  EXPECT_FALSE(plan.path.empty());
  ASSERT_TRUE(rate.traffic);
  EXPECT_EQ(rate.traffic->resamples, 6);
  ASSERT_EQ(rate.traffic->targets.size(), 2U);
  for (const auto& interval : rate.traffic->targets) {
    ASSERT_TRUE(interval);
    EXPECT_LE(interval->low, interval->high);
  }
  EXPECT_GE(rate.traffic->answer_meets, rate.traffic->fewer_meets.value());
  EXPECT_LE(rate.traffic->answer_meets, rate.traffic->more_meets.value());
  ASSERT_FALSE(rate.sensitivity.empty());
  for (const Sensitivity& each : rate.sensitivity) EXPECT_EQ(each.less_flips, each.less > 1) << each.what;
}

TEST(Plan, ResumedPlansAreEqualAndRunNothingTwice) {
  const TemporaryFolder folder;
  const traces::Trace trace = drawn_trace(6, 120);
  PlanRequest request = small_request(trace);
  const std::string whole = plan_json(plan_of(request));
  const std::string file = folder.path() + "/plan.db";
  bool resume = false;
  std::int64_t added = 0;
  struct Counted final : Store {
    std::unique_ptr<Store> inner;
    std::int64_t* added;
    Result<std::optional<CaseOutcome>> find(std::int64_t number) override { return inner->find(number); }
    Status add(const Step& step, const runs::Varied& varied,
               const std::vector<runs::FigureValue>& figures) override {
      ++*added;
      return inner->add(step, varied, figures);
    }
    Status note(std::int64_t position, const Step& step, const std::string& outcome) override {
      return inner->note(position, step, outcome);
    }
    Status commit() override { return inner->commit(); }
  };
  request.open_store = [&](const Space& space, const std::vector<Target>& targets,
                           const runs::Scenario& first) -> Result<std::unique_ptr<Store>> {
    auto store = std::make_unique<Counted>();
    KVPLAN_TRY(store->inner, open_database_store({file, resume, {}}, space, targets, first));
    store->added = &added;
    return std::unique_ptr<Store>(std::move(store));
  };
  // Stopped after some runs, again and again.
  core::RunControl control;
  request.control = &control;
  std::int64_t all = 0;
  for (int part = 0; part < 40; ++part) {
    control.stop = false;
    std::int64_t runs = 0;
    request.on_progress = [&](std::int64_t, std::int64_t) { control.stop = ++runs >= 9; };
    const auto plan = make_plan(request);
    resume = true;
    if (plan.ok() && !plan.value().interrupted) break;
    if (!plan.ok()) {
      EXPECT_EQ(plan.error().kind, ErrorKind::kInterrupted);
    }
  }
  control.stop = false;
  request.on_progress = {};
  all = added;
  EXPECT_EQ(plan_json(plan_of(request)), whole);
  const std::int64_t then = added;
  EXPECT_EQ(plan_json(plan_of(request)), whole);
  EXPECT_EQ(added, then) << "everything was known";
  EXPECT_GT(all, 0);
  // Other targets are another plan.
  request.settings.push_back({"targets.percentiles_s", "ttft.p95=0.3", {}, 0});
  EXPECT_NE(error_of(request).find("another sweep"), std::string::npos);
}

TEST(Plan, AnInterruptedPlanHasTheBestSoFar) {
  const traces::Trace trace = drawn_trace(7, 120);
  PlanRequest request = small_request(trace);
  core::RunControl control;
  request.control = &control;
  const Plan whole = plan_of(request);
  bool any = false;
  for (const std::int64_t stop_at : {1, 10, 30, 45, 60}) {
    control.stop = false;
    request.on_progress = [&](std::int64_t runs, std::int64_t expected) {
      EXPECT_GT(expected, runs);
      if (runs >= stop_at) control.stop = true;
    };
    const auto plan = make_plan(request);
    if (!plan.ok()) {
      EXPECT_EQ(plan.error().kind, ErrorKind::kInterrupted);
      continue;
    }
    if (!plan.value().interrupted) continue;
    any = true;
    EXPECT_TRUE(plan.value().rates[0].best->meets);
    EXPECT_GE(plan.value().rates[0].best->gpus, whole.rates[0].best->gpus);
    EXPECT_NE(plan_text(plan.value(), 100, false).find("Interrupted"), std::string::npos);
  }
  EXPECT_TRUE(any);
}

TEST(Plan, MistakesSayWhatWouldHelp) {
  const traces::Trace trace = drawn_trace(8, 120);
  PlanRequest request = small_request(trace);
  request.settings.back().text = "ttft.p95=0.0001";
  EXPECT_NE(error_of(request).find("TTFT p95 at most 100 µs would have to be"), std::string::npos)
      << error_of(request);
  request.settings.pop_back();
  EXPECT_NE(error_of(request).find("--target ttft.p99<=2s"), std::string::npos);

  PlanRequest devices = small_request(trace);
  devices.devices = {"h100-sxm", "h900"};
  EXPECT_NE(error_of(devices).find("--devices: "), std::string::npos);
  devices.devices = {"l40s"};
  devices.settings.push_back({"model", "llama-3.1-405b", {}, 0});
  devices.most_gpus = 4;
  EXPECT_NE(error_of(devices).find("no device starts this model"), std::string::npos) << error_of(devices);

  PlanRequest none = small_request(trace);
  none.settings.erase(none.settings.begin() + 1);  // no pool, no device
  EXPECT_NE(error_of(none).find("expected devices: add --devices"), std::string::npos) << error_of(none);

  PlanRequest tight = small_request(trace);
  tight.budget_per_hour = 1;
  tight.rates = {"2"};
  const std::string error = error_of(tight);
  EXPECT_NE(error.find("needs --budget "), std::string::npos) << error;
}

}  // namespace
}  // namespace kvplan::planner
