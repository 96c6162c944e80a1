// The worker: the newest request wins, cancelling is answered, results are those of the library.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "simulator/results/report.h"
#include "tests/gui/support.h"
#include "tests/support/sanitized.h"

namespace kvplan::gui {
namespace {

/// The worker's answers, in order.
struct Answers {
  std::vector<ResultPtr> results;
  std::vector<std::pair<Generation, Error>> errors;
  std::vector<Opened> opened;

  explicit Answers(SimulationWorker& worker) {
    QObject::connect(&worker, &SimulationWorker::finished, &worker,
                     [this](const ResultPtr& result) { results.push_back(result); });
    QObject::connect(
        &worker, &SimulationWorker::failed, &worker,
        [this](quint64 generation, const Error& error) { errors.emplace_back(generation, error); });
    QObject::connect(&worker, &SimulationWorker::opened, &worker,
                     [this](quint64, const Opened& files) { opened.push_back(files); });
  }
};

TEST(GuiWorker, GivesTheNumbersOfTheLibrary) {
  SimulationWorker worker;
  Answers answers(worker);
  const runs::Scenario scenario = scenario_of({"memory.pool_blocks=2000", "workload.rate_scale=3"});
  worker.run(scenario, micro_trace(), 300, true);
  ASSERT_TRUE(wait_for([&] { return !worker.busy(); }));
  ASSERT_EQ(answers.results.size(), 1U);
  runs::RunOptions options;
  const auto direct = runs::run_scenario(scenario, micro_trace()->trace, options).value();
  EXPECT_EQ(runs::report_json(answers.results[0]->run), runs::report_json(direct));
  // At most the requested number of bins, and more than half of it.
  EXPECT_LE(answers.results[0]->timeline->bins().size(), 300U);
  EXPECT_GT(answers.results[0]->timeline->bins().size(), 150U);
}

TEST(GuiWorker, TheNewestWishIsAlwaysAnsweredAndOrderIsKept) {
  SimulationWorker worker;
  Answers answers(worker);
  Generation last = 0;
  for (int i = 1; i <= 60; ++i)
    last = worker.run(scenario_of({"workload.rate_scale=" + std::to_string(i)}), micro_trace(), 64, false);
  ASSERT_TRUE(wait_for([&] { return !worker.busy(); }));
  ASSERT_FALSE(answers.results.empty());
  EXPECT_EQ(answers.results.back()->generation, last);
  EXPECT_EQ(answers.results.back()->run.scenario.text("workload.rate_scale"), "60");
  EXPECT_TRUE(std::is_sorted(answers.results.begin(), answers.results.end(),
                             [](const auto& a, const auto& b) { return a->generation < b->generation; }));
  EXPECT_LT(answers.results.size(), 60U) << "wishes that were never run must not be answered";
  EXPECT_TRUE(answers.errors.empty()) << answers.errors.front().second.to_string();
}

TEST(GuiWorker, ADiscreteWishEndsTheRunningJob) {
  SimulationWorker worker;
  Answers answers(worker);
  const Generation slow = worker.run(scenario_of({}), long_trace(), 64, false);
  ASSERT_TRUE(wait_for([&] { return worker.progress() >= 0; }));
  const Generation quick = worker.run(scenario_of({}), micro_trace(), 64, true);
  ASSERT_TRUE(wait_for([&] { return !worker.busy(); }));
  ASSERT_EQ(answers.errors.size(), 1U);
  EXPECT_EQ(answers.errors[0].first, slow);
  EXPECT_EQ(answers.errors[0].second.kind, ErrorKind::kInterrupted);
  ASSERT_EQ(answers.results.size(), 1U);
  EXPECT_EQ(answers.results[0]->generation, quick);
}

TEST(GuiWorker, CancelAnswersTheRunningAndTheWaitingWish) {
  SimulationWorker worker;
  Answers answers(worker);
  worker.run(scenario_of({}), long_trace(), 64, false);
  ASSERT_TRUE(wait_for([&] { return worker.progress() >= 0; }));
  worker.run(scenario_of({}), micro_trace(), 64, false);
  worker.cancel();
  ASSERT_TRUE(wait_for([&] { return !worker.busy(); }));
  EXPECT_EQ(answers.errors.size(), 2U);
  for (const auto& [generation, error] : answers.errors) EXPECT_EQ(error.kind, ErrorKind::kInterrupted);
  EXPECT_TRUE(answers.results.empty());
}

TEST(GuiWorker, MayGoWhileItWorks) {
  auto worker = std::make_unique<SimulationWorker>();
  worker->run(scenario_of({}), long_trace(), 64, false);
  worker.reset();  // ends the run and waits for it; otherwise the test would not end
}

/// Limits the address space to its current size. Large blocks then fail, since they are requested from the system, not
/// taken from memory that other tests freed.
class NoMoreMemory {
 public:
  NoMoreMemory() {
    EXPECT_EQ(::mallopt(M_MMAP_THRESHOLD, 1 << 16), 1);
    EXPECT_EQ(::getrlimit(RLIMIT_AS, &before_), 0);
    const rlimit limit{1, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
  }
  ~NoMoreMemory() { EXPECT_EQ(::setrlimit(RLIMIT_AS, &before_), 0); }
  NoMoreMemory(const NoMoreMemory&) = delete;
  NoMoreMemory& operator=(const NoMoreMemory&) = delete;

 private:
  rlimit before_{};
};

TEST(GuiWorker, AJobWithoutMemoryFailsAndTheNextOneRuns) {
#if KVPLAN_SHADOW_MEMORY
  GTEST_SKIP() << "a sanitizer needs address space of its own";
#endif
  SimulationWorker worker;
  Answers answers(worker);
  const TracePtr trace = long_trace();
  {
    const NoMoreMemory full;
    worker.run(scenario_of({"fleet.replicas=4096"}), trace, 64, true);
    ASSERT_TRUE(wait_for([&] { return !worker.busy(); }));
  }
  ASSERT_EQ(answers.errors.size(), 1U);
  EXPECT_EQ(answers.errors[0].second.to_string(), "out of memory");
  worker.run(scenario_of({}), micro_trace(), 64, true);
  ASSERT_TRUE(wait_for([&] { return !worker.busy(); }));
  EXPECT_EQ(answers.results.size(), 1U);
}

TEST(GuiWorker, OpensTracesAndSaysWhatIsWrongWithOthers) {
  SimulationWorker worker;
  Answers answers(worker);
  worker.open({kMicroTrace}, {{"fleet.replicas", "2", {}, 0}});
  ASSERT_TRUE(wait_for([&] { return !worker.busy(); }));
  ASSERT_EQ(answers.opened.size(), 1U);
  EXPECT_EQ(answers.opened[0].trace->trace.size(), 3000);
  EXPECT_EQ(runs::resolve(answers.opened[0].settings).value().replicas, 2) << "the scenario stays";
  worker.open({std::string(KVPLAN_SOURCE_DIR) + "/README.md"}, {});
  ASSERT_TRUE(wait_for([&] { return !worker.busy(); }));
  ASSERT_EQ(answers.errors.size(), 1U);
  EXPECT_NE(answers.errors[0].second.to_string().find("README.md"), std::string::npos);
}

TEST(GuiWorker, ReadingCountsTheBytesOfTheFile) {
  ReadProgress progress;
  ASSERT_TRUE(read_trace(kMicroTrace, {}, core::RunControl{}, progress).ok());
  EXPECT_EQ(progress.total, static_cast<std::int64_t>(std::filesystem::file_size(kMicroTrace)));
  EXPECT_EQ(progress.bytes, progress.total);
  core::RunControl stopped;
  stopped.stop = true;
  const auto ended = read_trace(kMicroTrace, {}, stopped, progress);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().kind, ErrorKind::kInterrupted);
}

}  // namespace
}  // namespace kvplan::gui
