// The data of the views, before it is painted.
#include <gtest/gtest.h>

#include <QFile>
#include <QLocale>
#include <QTemporaryDir>
#include <cmath>
#include <set>

#include "gui/viewmodel/colours.h"
#include "gui/viewmodel/formatting.h"
#include "gui/viewmodel/headline.h"
#include "gui/viewmodel/scenario_document.h"
#include "gui/viewmodel/slider_model.h"
#include "gui/viewmodel/timeline_data.h"
#include "simulator/base/random.h"
#include "simulator/io/scenario_file.h"
#include "tests/gui/support.h"

namespace kvplan::gui {
namespace {

std::string plain(QString text) {
  return to_utf8(text.replace(QChar(0x00A0), QLatin1Char(' ')));
}

TEST(GuiFormatting, NumbersHaveUnitsAndThreeDigits) {
  EXPECT_EQ(plain(format_bytes(0)), "0 B");
  EXPECT_EQ(plain(format_bytes(1023)), "1,023 B");
  EXPECT_EQ(plain(format_bytes(1536)), "1.50 KiB");
  EXPECT_EQ(plain(format_bytes(51539607552.0)), "48.0 GiB");
  EXPECT_EQ(plain(format_seconds(0)), "0 s");
  EXPECT_EQ(plain(format_seconds(0.0000313)), "31.3 µs");
  EXPECT_EQ(plain(format_seconds(0.205)), "205 ms");
  EXPECT_EQ(plain(format_seconds(3504)), "58 min 24 s");
  EXPECT_EQ(plain(format_seconds(7500)), "2 h 05 min");
  EXPECT_EQ(plain(format_number(19366)), "19,366");
  EXPECT_EQ(plain(format_number(9.3612)), "9.36");
  EXPECT_EQ(plain(format_percent(0.9434)), "94.3 %");
  EXPECT_EQ(plain(format_percent(0.00001)), "<0.01 %");
  EXPECT_EQ(plain(format_percent(0)), "0 %");
}

TEST(GuiFormatting, MarksLieInsideTheAxisAtRoundValues) {
  for (const double end : {3.0, 1e3, 7.7e6, 51539607552.0, 4e13}) {
    const AxisMarks marks = byte_marks(0, end, 6);
    EXPECT_GE(marks.values.size(), 3U) << end;
    EXPECT_LE(marks.values.size(), 7U) << end;
    EXPECT_EQ(marks.values.front(), 0);
    EXPECT_LE(marks.values.back(), end * (1 + 1e-9));
  }
  const AxisMarks hour = time_marks(0, 3504, 9);
  EXPECT_EQ(hour.unit, QStringLiteral("min"));
  EXPECT_EQ(hour.texts.at(1), QStringLiteral("10"));
  const AxisMarks deep = time_marks(1000.0, 1000.5, 5);
  std::set<QString> texts(deep.texts.begin(), deep.texts.end());
  EXPECT_EQ(texts.size(), deep.texts.size()) << "marks beside each other must differ in text";
}

std::shared_ptr<const TimelineData> timeline_of(const std::vector<std::string>& sets, std::int64_t bins) {
  runs::RunOptions options;
  options.timeline_bins = bins;
  return TimelineData::from(runs::run_scenario(scenario_of(sets), micro_trace()->trace, options).value());
}

TEST(GuiTimeline, EveryColumnSumsToTheCapacityAndLosesNothing) {
  const auto data = timeline_of({"memory.pool_blocks=4000", "fleet.replicas=2"}, 997);
  ASSERT_FALSE(data->empty());
  Random random(20261121, "gui columns");
  for (int round = 0; round < 200; ++round) {
    const std::int64_t end = data->whole().end;
    const auto pick = [&] {
      return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(end)));
    };
    const std::int64_t a = pick();
    const std::int64_t b = pick();
    const TimeRange range{std::min(a, b), std::max(a, b) + 1};
    const int count = 1 + static_cast<int>(random.below(1500));
    const auto columns = data->columns(range, count);
    ASSERT_EQ(columns.size(), static_cast<std::size_t>(count));
    std::array<std::int64_t, kTimelineRows> greatest{};
    for (const TimelineColumn& column : columns) {
      Wide sum = 0;
      for (std::size_t s = 0; s < observe::kStates; ++s) sum += column.value_ticks[s];
      ASSERT_TRUE(sum == Wide{data->capacity_bytes()} * (column.end - column.begin));
      for (std::size_t row = 0; row < kTimelineRows; ++row)
        greatest[row] = std::max(greatest[row], column.greatest[row]);
    }
    // The simple way: every bin that overlaps the range.
    std::array<std::int64_t, kTimelineRows> expected{};
    for (const TimelineColumn& bin : data->bins())
      for (std::size_t row = 0; row < kTimelineRows; ++row)
        if (bin.begin < range.end && bin.end > range.begin)
          expected[row] = std::max(expected[row], bin.greatest[row]);
    ASSERT_EQ(greatest, expected) << "round " << round;
  }
}

TEST(GuiTimeline, OneColumnIsTheMeanThatTheReportHas) {
  runs::RunOptions options;
  options.timeline_bins = 500;
  const auto run = runs::run_scenario(scenario_of({}), micro_trace()->trace, options).value();
  const auto data = TimelineData::from(run);
  const TimelineColumn whole = data->columns(data->whole(), 1).front();
  for (std::size_t s = 0; s < observe::kStates; ++s)
    EXPECT_DOUBLE_EQ(whole.mean(s), run.memory->mean_bytes[s]) << observe::kStateNames[s];
  EXPECT_DOUBLE_EQ(whole.mean(kRunningRow), *run.mean_running);
}

TEST(GuiColours, StatesDifferByColourOrHatch) {
  QPalette dark;
  dark.setColor(QPalette::Window, Qt::black);
  dark.setColor(QPalette::WindowText, Qt::white);
  dark.setColor(QPalette::Base, QColor(0x1E, 0x1E, 0x1E));
  for (const QPalette& palette : {QPalette(), dark}) {
    std::set<std::pair<QRgb, bool>> seen;
    for (std::size_t s = 0; s < observe::kStates; ++s) {
      const auto state = static_cast<observe::State>(s);
      seen.insert({state_colour(state, palette).rgb(), state_hatched(state)});
      if (state_hatched(state)) {
        EXPECT_NE(state_colour(state, palette).rgb(), hatch_colour(state, palette).rgb());
      }
    }
    EXPECT_EQ(seen.size(), observe::kStates);
  }
}

TEST(GuiDocument, DefaultsOfABinaryScenarioAreNotGiven) {
  const std::vector<std::string> given{"workload.trace=" + kMicroTrace, "workload.rate_scale=3",
                                       "memory.pool_blocks=2000", "memory.allocator.block_tokens=32",
                                       "targets.ttft_s=2"};
  const QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("all.kvs"));
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  const Status written =
      io::write_scenario_binary(scenario_of(given), to_utf8(path), [&](std::string_view bytes) -> Status {
        file.write(bytes.data(), static_cast<qsizetype>(bytes.size()));
        return Done{};
      });
  ASSERT_TRUE(written.ok());
  file.close();
  const auto read = io::read_scenario(to_utf8(path));
  ASSERT_TRUE(read.ok());
  EXPECT_GT(read.value().size(), given.size()) << "the file names every value";
  ScenarioDocument document;
  ASSERT_TRUE(document.load(read.value()).ok());
  std::vector<std::string> kept;
  for (const runs::Setting& setting : document.settings()) kept.push_back(setting.path + "=" + setting.text);
  auto expected = given;
  expected[3] = "memory.allocator=paged:block_tokens=32";
  std::sort(expected.begin(), expected.end());
  std::sort(kept.begin(), kept.end());
  EXPECT_EQ(kept, expected);
  for (const char* path_given : {"workload.rate_scale", "memory.pool_blocks", "memory.allocator",
                                 "memory.allocator.block_tokens", "targets.ttft_s"})
    EXPECT_TRUE(document.is_given(path_given)) << path_given;
  for (const char* by_default : {"engine", "engine.max_seqs", "latency", "fleet.replicas", "model", "seed"})
    EXPECT_FALSE(document.is_given(by_default)) << by_default;
  EXPECT_EQ(document.scenario().texts, scenario_of(given).texts);
}

TEST(GuiDocument, DefaultsOfAnotherVersionStayAndAreNotGiven) {
  using runs::Origin;
  // As in a file of a program with other defaults.
  const std::vector<runs::Setting> settings{
      {"memory.pool_bytes", "1073741824", "old.kvs", 0, Origin::kDefault, {}},
      {"engine", "vllm-v1:max_seqs=32,token_budget=1000", "old.kvs", 0, Origin::kGiven, {"max_seqs"}}};
  ScenarioDocument document;
  ASSERT_TRUE(document.load(settings).ok());
  EXPECT_EQ(document.scenario().pool.bytes, 1073741824);
  EXPECT_EQ(document.scenario().engine.integer("max_seqs"), 32);
  EXPECT_FALSE(document.is_given("memory.pool_bytes"));
  EXPECT_TRUE(document.is_given("engine"));
  EXPECT_TRUE(document.is_given("engine.token_budget"));
  EXPECT_FALSE(document.is_given("engine.max_seqs"));
  ASSERT_TRUE(document.set("engine.token_budget", "2000").ok());
  EXPECT_FALSE(document.is_given("engine.max_seqs")) << "it was not given meanwhile";
  ASSERT_TRUE(document.set("engine.max_seqs", "32").ok());
  EXPECT_TRUE(document.is_given("engine.max_seqs")) << "the same value, but now it was given";
  document.undo_stack().undo();
  EXPECT_FALSE(document.is_given("engine.max_seqs"));
  ASSERT_TRUE(document.set("memory.pool_blocks", "500").ok());
  EXPECT_EQ(document.scenario().pool.blocks, 500);
  EXPECT_EQ(document.scenario().pool.bytes, -1);
}

TEST(GuiDocument, EditsOfOneDragAreOneStep) {
  ScenarioDocument document;
  ASSERT_TRUE(document.set("workload.rate_scale", "2", 7).ok());
  ASSERT_TRUE(document.set("workload.rate_scale", "3", 7).ok());
  ASSERT_TRUE(document.set("workload.rate_scale", "4", 7).ok());
  ASSERT_TRUE(document.set("fleet.replicas", "2").ok());
  EXPECT_EQ(document.undo_stack().count(), 2);
  document.undo_stack().undo();
  EXPECT_EQ(document.scenario().replicas, 1);
  EXPECT_EQ(document.scenario().rate_scale, (Fraction{4, 1}));
  document.undo_stack().undo();
  EXPECT_EQ(document.scenario().rate_scale, (Fraction{1, 1}));
  EXPECT_TRUE(document.settings().empty());
  document.undo_stack().redo();
  EXPECT_EQ(document.scenario().text("workload.rate_scale"), "4");
}

TEST(GuiDocument, WhatDoesNotResolveChangesNothing) {
  ScenarioDocument document;
  const Status wrong = document.set("fleet.replicas", "none");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().field, "fleet.replicas");
  EXPECT_FALSE(document.set("memory.allocater", "paged").ok());
  EXPECT_TRUE(document.settings().empty());
  EXPECT_EQ(document.undo_stack().count(), 0);
}

TEST(GuiDocument, ComponentsKeepTheirParametersAndGetWhatTheyNeed) {
  ScenarioDocument document;
  ASSERT_TRUE(document.set("memory.allocator.block_tokens", "32").ok());
  EXPECT_TRUE(document.is_given("memory.allocator.block_tokens"));
  EXPECT_EQ(document.scenario().allocator.integer("block_tokens"), 32);
  ASSERT_TRUE(document.set("memory.allocator", "contiguous").ok());
  EXPECT_FALSE(document.is_given("memory.allocator.block_tokens"));
  ASSERT_TRUE(document.set("eviction", "window").ok()) << "its window has no default";
  EXPECT_EQ(document.scenario().eviction->integer("window"), 1024);
  ASSERT_TRUE(document.set("eviction.window", "77").ok());
  EXPECT_EQ(document.scenario().keep.recent, 77);
  ASSERT_TRUE(document.reset("memory.allocator").ok());
  EXPECT_EQ(document.scenario().allocator.name(), "paged");
}

TEST(GuiDocument, OneSizeOfThePoolAtATime) {
  ScenarioDocument document;
  ASSERT_TRUE(document.set("memory.pool_blocks", "100").ok());
  ASSERT_TRUE(document.set("memory.pool_tokens", "5000").ok());
  EXPECT_EQ(document.scenario().pool.tokens, 5000);
  EXPECT_EQ(document.scenario().pool.blocks, -1);
}

/// Words of a shell command with '...' quotes, as a shell splits them.
std::vector<std::string> shell_words(const std::string& text) {
  std::vector<std::string> words{""};
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') {
      quoted = !quoted;
    } else if (text[i] == '\\' && !quoted) {
      words.back() += text[++i];
    } else if (text[i] == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back() += text[i];
    }
  }
  return words;
}

TEST(GuiDocument, TheCommandResolvesToTheSameScenario) {
  ScenarioDocument document;
  const std::vector<runs::Setting> given{{"workload.trace", "it's a trace.csv", {}, 0},
                                         {"memory.allocator", "paged:block_tokens=64", {}, 0},
                                         {"engine.max_seqs", "17", {}, 0},
                                         {"eviction", "streaming-llm:sink=4,recent=252", {}, 0},
                                         {"workload.rate_scale", "3/2", {}, 0}};
  ASSERT_TRUE(document.load(given).ok());
  const auto words = shell_words(command_line(document.settings()));
  ASSERT_GE(words.size(), 3U);
  EXPECT_EQ(words[0] + " " + words[1], "kvplan run");
  std::vector<runs::Setting> settings{{"workload.trace", words[2], {}, 0}};
  for (std::size_t i = 3; i + 1 < words.size(); i += 2) {
    EXPECT_EQ(words[i], "--set");
    settings.push_back(runs::parse_setting(words[i + 1]).value());
  }
  EXPECT_EQ(runs::resolve(settings).value().texts, document.scenario().texts);
  EXPECT_EQ(runs::resolve(given).value().texts, document.scenario().texts);
}

TEST(GuiSliders, EveryStopIsAValueOfTheScenario) {
  for (const char* eviction : {"full", "window:window=100", "streaming-llm:sink=4,recent=100"}) {
    for (const char* pool :
         {"memory.pool_bytes=1073741824", "memory.pool_tokens=70000", "memory.pool_blocks=5000"}) {
      const runs::Scenario scenario = scenario_of({std::string("eviction=") + eviction, pool});
      for (std::size_t kind = 0; kind < kSliders; ++kind) {
        const SliderModel model = slider_model(static_cast<SliderKind>(kind), scenario, {512, 0});
        ASSERT_FALSE(model.path.empty());
        std::set<std::string> once;
        for (const std::string& stop : model.stops) {
          EXPECT_TRUE(once.insert(stop).second) << model.path << " " << stop;
          ScenarioDocument document;
          std::vector<runs::Setting> base{{"eviction", eviction, {}, 0}};
          ASSERT_TRUE(document.load(base).ok());
          ASSERT_TRUE(document.set(model.path, stop).ok()) << model.path << "=" << stop;
          const auto again = slider_model(static_cast<SliderKind>(kind), document.scenario(), {512, 0});
          EXPECT_EQ(again.stops.at(static_cast<std::size_t>(again.position())), stop) << model.path;
        }
      }
    }
  }
}

TEST(GuiSliders, ADerivedPoolStandsWhereItCameOut) {
  const runs::Scenario derived = scenario_of({"deployment.device=h100-sxm", "model=llama-3-8b"});
  ASSERT_TRUE(derived.derives_pool);
  const SliderModel before = slider_model(SliderKind::kPool, derived, {});
  EXPECT_TRUE(before.path.empty()) << "nothing to move as long as the start is unknown";
  EXPECT_FALSE(before.explanation.isEmpty());
  const auto run = runs::run_scenario(derived, micro_trace()->trace, {}).value();
  const std::int64_t bytes = run.replicas.front().pool.capacity_bytes;
  ASSERT_GT(bytes, std::int64_t{40} << 30);
  const SliderModel after = slider_model(SliderKind::kPool, derived, {0, bytes});
  EXPECT_EQ(after.path, "memory.pool_bytes");
  EXPECT_EQ(after.text, std::to_string(bytes));
  const auto stop = parse_integer(after.stops.at(static_cast<std::size_t>(after.position()))).value();
  EXPECT_LT(std::abs(std::log2(static_cast<double>(stop) / static_cast<double>(bytes))), 1.0 / 15);
  EXPECT_TRUE(after.shown.contains(QStringLiteral("h100-sxm"))) << after.shown.toStdString();
}

TEST(GuiSliders, BlocksDivideTheHashBlockAndContiguousHasNone) {
  const SliderModel blocks = slider_model(SliderKind::kBlock, scenario_of({}), {48, 0});
  EXPECT_EQ(blocks.stops, (std::vector<std::string>{"1", "2", "4", "8", "16"}));
  EXPECT_TRUE(
      slider_model(SliderKind::kBlock, scenario_of({"memory.allocator=contiguous"}), {}).path.empty());
}

}  // namespace
}  // namespace kvplan::gui
