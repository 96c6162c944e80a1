// Files for many runs: each read once, equal ones as one, in any order and on any threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "simulator/report/comparison.h"
#include "simulator/scenario/scenario_files.h"
#include "simulator/study/cases.h"
#include "simulator/study/compare.h"
#include "tests/unit/report/cases.h"

namespace kvplan::runs {
namespace {

using report::testing::small_settings;
using report::testing::small_trace;

/// Files in memory, with counts of their reads.
struct Disk {
  struct File {
    std::string content;
    std::int64_t changed{0};
  };
  std::map<std::string, File> files;
  std::map<std::string, int> reads, digests;
  std::mutex mutex;

  InputReaders readers() {
    InputReaders out;
    out.read_trace = [this](const Scenario& scenario) -> Result<traces::Trace> {
      KVPLAN_TRY_DO(read(scenario.trace));
      return small_trace();
    };
    out.open_prices = [this](const std::string& path) -> Result<PriceList> {
      KVPLAN_TRY_DO(read(path));
      return PriceList{.currency = files.at(path).content, .source = path, .devices = {}};
    };
    out.open_model = [this](const std::string& path) -> Result<model::ModelShape> {
      KVPLAN_TRY_DO(read(path));
      model::ModelShape shape;
      shape.name = path;
      return shape;
    };
    out.open_side = [this](const std::string& path) -> Result<std::shared_ptr<const formats::SideData>> {
      KVPLAN_TRY_DO(read(path));
      auto side = std::make_shared<formats::SideData>();
      side->file = path;
      return std::shared_ptr<const formats::SideData>(std::move(side));
    };
    out.look = [this](const std::string& path) -> std::optional<FileLook> {
      const auto found = files.find(path);
      if (found == files.end()) return std::nullopt;
      return FileLook{static_cast<std::int64_t>(found->second.content.size()), found->second.changed};
    };
    out.digest = [this](const std::string& path) -> Result<std::string> {
      const std::lock_guard lock(mutex);
      ++digests[path];
      if (files.at(path).content == "secret") return bad_input("unknown");
      return files.at(path).content;
    };
    return out;
  }
  Status read(const std::string& path) {
    const std::lock_guard lock(mutex);
    ++reads[path];
    if (files.contains(path) && files.at(path).content != "broken") return Done{};
    return Error(bad_input("broken")).at_file(path);
  }
};

Scenario on(const std::string& trace, const std::string& format = {}) {
  std::vector<Setting> settings = small_settings();
  settings.push_back({"workload.trace", trace, {}, 0});
  if (!format.empty()) settings.push_back({"workload.format", format, {}, 0});
  return report::testing::scenario_of(settings);
}

using Counts = std::map<std::string, int>;

TEST(Inputs, EqualFilesAreReadOnceWhateverTheyAreCalled) {
  Disk disk;
  disk.files = {{"a", {"one"}}, {"b", {"two"}}, {"copy of a", {"one"}}, {"longer", {"three"}}};
  Inputs inputs(disk.readers());
  const TracePtr a = inputs.trace(on("a")).value();
  EXPECT_EQ(inputs.trace(on("a")).value(), a);
  EXPECT_NE(inputs.trace(on("b")).value(), a);
  EXPECT_NE(inputs.trace(on("longer")).value(), a);
  EXPECT_EQ(inputs.trace(on("copy of a")).value(), a);
  EXPECT_EQ(disk.reads, (Counts{{"a", 1}, {"b", 1}, {"longer", 1}}));
  // Only files of equal length can be equal, so only these are read for their digests.
  EXPECT_EQ(disk.digests, (Counts{{"a", 1}, {"b", 1}, {"copy of a", 1}}));
}

TEST(Inputs, AnotherWayOfReadingIsAnotherTrace) {
  Disk disk;
  disk.files = {{"a", {"one"}}, {"b", {"one"}}};
  Inputs inputs(disk.readers());
  const TracePtr as_it_is = inputs.trace(on("a")).value();
  const TracePtr told = inputs.trace(on("b", "azure")).value();
  EXPECT_NE(told, as_it_is);
  EXPECT_EQ(inputs.trace(on("a", "azure")).value(), told);
}

TEST(Inputs, TheFileThatWasMetFirstIsRead) {
  for (const bool met : {true, false}) {
    Disk disk;
    disk.files = {{"a", {"USD"}}, {"b", {"USD"}}};
    Inputs inputs(disk.readers());
    if (met) inputs.meet({"a", "b"});
    const Openers openers = inputs.openers();
    for (const char* path : {"b", "a", "b"})
      EXPECT_EQ(openers.open_prices(path).value().source, met ? "a" : "b") << path;
    EXPECT_EQ(disk.reads.size(), 1U);
    EXPECT_EQ(disk.reads.begin()->second, 1);
  }
}

TEST(Inputs, SideFilesAreAmongThem) {
  Disk disk;
  disk.files = {{"a", {"bases"}}, {"b", {"bases"}}, {"c", {"other"}}};
  Inputs inputs(disk.readers());
  const Openers openers = inputs.openers();
  const auto a = openers.open_side("a").value();
  EXPECT_EQ(openers.open_side("b").value(), a);
  EXPECT_EQ(openers.open_side("c").value()->file, "c");
  inputs.keep_only({"a"});
  EXPECT_EQ(openers.open_side("a").value(), a);
  EXPECT_EQ(openers.open_side("c").value()->file, "c");
  EXPECT_EQ(disk.reads, (Counts{{"a", 1}, {"c", 2}}));
  // A batch knows the files that a scenario names before it begins.
  const Scenario scenario = report::testing::scenario_of(
      {{"format", "palu:file=a,rank=8", {}, 0}, {"memory.pool_tokens", "100", {}, 0}});
  const std::vector<std::string> named = files_of(scenario);
  EXPECT_NE(std::find(named.begin(), named.end(), "a"), named.end());
  EXPECT_EQ(
      with_files_moved("format", "kvquant:file=a,bits=4", [](const std::string& f) { return "d/" + f; }),
      "kvquant:file=d/a,bits=4");
}

TEST(Inputs, AnErrorNamesTheFileThatWasAskedFor) {
  Disk disk;
  disk.files = {{"a", {"broken"}}, {"b", {"broken"}}};
  Inputs inputs(disk.readers());
  const Openers openers = inputs.openers();
  for (const char* path : {"a", "b", "a", "b", "absent", "absent"})
    EXPECT_EQ(openers.open_prices(path).error().to_string(), std::string(path) + ": broken");
  EXPECT_EQ(disk.reads, (Counts{{"a", 1}, {"absent", 1}, {"b", 1}}));
}

TEST(Inputs, WhatCannotBeKnownIsToldApartByItsName) {
  Disk disk;
  disk.files = {{"a", {"secret"}}, {"b", {"secret"}}};
  Inputs inputs(disk.readers());
  EXPECT_NE(inputs.trace(on("a")).value(), inputs.trace(on("b")).value());
  // A model may get its name from its file.
  disk.files = {{"a.json", {"one"}}, {"b.json", {"one"}}};
  const Openers openers = inputs.openers();
  EXPECT_EQ(openers.open_model("a.json").value().name, "a.json");
  EXPECT_EQ(openers.open_model("b.json").value().name, "b.json");
}

TEST(Inputs, AnInterruptionIsHandedOn) {
  Disk disk;
  disk.files = {{"a", {"one"}}, {"b", {"two"}}};
  InputReaders readers = disk.readers();
  readers.digest = [](const std::string&) -> Result<std::string> { return interrupted_error(); };
  Inputs inputs(std::move(readers));
  EXPECT_TRUE(inputs.trace(on("a")).ok());
  EXPECT_EQ(inputs.trace(on("b")).error().kind, ErrorKind::kInterrupted);
}

TEST(Inputs, ThreadsReadEachOnce) {
  Disk disk;
  for (int i = 0; i < 6; ++i) disk.files["p" + std::to_string(i)] = {"content " + std::to_string(i % 3), 0};
  Inputs inputs(disk.readers());
  const Openers openers = inputs.openers();
  inputs.meet({"p0", "p1", "p2", "p3", "p4", "p5"});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        const int n = (i * (t + 1) + t) % 6;
        const auto list = openers.open_prices("p" + std::to_string(n));
        if (!list.ok() || list.value().source != "p" + std::to_string(n % 3)) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(disk.reads, (Counts{{"p0", 1}, {"p1", 1}, {"p2", 1}}));
}

TEST(Inputs, WhatChangedOrIsNotAskedForAnyMoreIsForgotten) {
  Disk disk;
  disk.files = {{"a", {"one"}}, {"b", {"one"}}, {"c", {"three"}}};
  Inputs inputs(disk.readers());
  const Openers openers = inputs.openers();
  const auto content = [&](const char* path) { return openers.open_prices(path).value().currency; };
  for (const char* path : {"a", "b", "c"}) content(path);
  EXPECT_EQ(disk.reads, (Counts{{"a", 1}, {"c", 1}}));
  inputs.keep_only({"a", "b", "c"});
  for (const char* path : {"a", "b", "c"}) content(path);
  EXPECT_EQ(disk.reads, (Counts{{"a", 1}, {"c", 1}}));
  // Rewritten with the same number of bytes; b still has the old content.
  disk.files["a"] = {"two", 1};
  EXPECT_EQ(content("a"), "one");
  inputs.keep_only({"a", "b"});
  EXPECT_EQ(content("a"), "two");
  EXPECT_EQ(content("b"), "one");
  EXPECT_EQ(content("c"), "three");
  EXPECT_EQ(disk.reads, (Counts{{"a", 2}, {"b", 1}, {"c", 2}}));
  // A file that was absent exists now.
  EXPECT_FALSE(openers.open_prices("d").ok());
  disk.files["d"] = {"four", 0};
  EXPECT_FALSE(openers.open_prices("d").ok());
  inputs.keep_only({"d"});
  EXPECT_EQ(content("d"), "four");
}

/// A comparison of two equal traces and a different one.
std::string compared(Disk& disk, int threads) {
  Inputs inputs(disk.readers());
  CompareOptions options;
  options.threads = threads;
  const auto result =
      compare(small_settings(),
              {parse_vary("workload.trace=a;b;c").value(), parse_vary("engine.max_seqs=2;6").value()}, inputs,
              options);
  return result ? report::comparison_json(result.value()) : result.error().to_string();
}

TEST(Inputs, AComparisonReadsEqualTracesOnce) {
  Disk one;
  one.files = {{"a", {"same"}}, {"b", {"same"}}, {"c", {"another"}}};
  const std::string json = compared(one, 1);
  EXPECT_EQ(json.substr(0, 1), "{");
  EXPECT_EQ(one.reads, (Counts{{"a", 1}, {"c", 1}}));
  Disk two;
  two.files = one.files;
  EXPECT_EQ(compared(two, 2), json);
  EXPECT_EQ(two.reads, one.reads);
}

TEST(Cases, HandOutWhatIsWantedAndNothingElse) {
  for (const int threads : {1, 2}) {
    const TracePtr trace = std::make_shared<const traces::Trace>(small_trace());
    std::int64_t next = 0;
    std::int64_t done = 0;
    Cases cases;
    cases.threads = threads;
    cases.next = [&]() -> Result<std::optional<std::int64_t>> {
      return next < 8 ? std::optional(next++) : std::nullopt;
    };
    cases.make = [&](std::int64_t number) -> Result<Case> {
      if (number == 7) return bad_input("no such case");
      return Case{on("a"), trace, {.timeline_bins = number % 2 == 0 ? 8 : 0, .requests = number % 4 < 2}};
    };
    cases.done = [&](Outcome&& outcome) -> Status {
      ++done;
      EXPECT_EQ(outcome.result.has_value(), !outcome.error.has_value());
      if (!outcome.result) {
        EXPECT_EQ(outcome.number, 7);
        EXPECT_EQ(outcome.error->message, "no such case");
        return Done{};
      }
      EXPECT_EQ(outcome.result->details[0].timeline.empty(), outcome.number % 2 != 0);
      EXPECT_EQ(outcome.result->records.empty(), outcome.number % 4 >= 2);
      EXPECT_EQ(outcome.result->completed, 12);
      return Done{};
    };
    cases.idle = [] { return Status(Done{}); };
    EXPECT_TRUE(run_cases(cases).ok());
    EXPECT_EQ(done, 8);
  }
}

}  // namespace
}  // namespace kvplan::runs
