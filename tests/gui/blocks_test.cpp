// The view of blocks, against the table of holders that `kvplan run --holders` writes; and the view of attention,
// against `kvplan evict`.
#include <gtest/gtest.h>

#include <QComboBox>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLineEdit>
#include <QPushButton>
#include <QSlider>
#include <random>
#include <sstream>

#include "gui/view/message_bar.h"
#include "gui/viewmodel/formatting.h"
#include "gui/views/attention/attention_view.h"
#include "gui/views/blocks/block_map.h"
#include "gui/views/blocks/blocks_view.h"
#include "simulator/base/json_writer.h"
#include "simulator/results/holders_table.h"
#include "tests/gui/support.h"

namespace kvplan::gui {
namespace {

const std::vector<std::string> kSmall{"memory.pool_blocks=1500", "workload.rate_scale=4",
                                      "workload.limit=600"};

struct Holding {
  std::map<std::int64_t, std::string> held;  ///< by block: its requests, ascending
  std::set<std::int64_t> cached;
  bool operator==(const Holding&) const = default;
};

/// What `kvplan run --holders` says.
Holding holders_at(const std::string& seconds_text) {
  const runs::Scenario scenario = scenario_of(kSmall);
  runs::RunOptions options;
  runs::HoldersTable table;
  EXPECT_TRUE(table.attach(seconds_text, scenario, options).ok());
  EXPECT_TRUE(runs::run_scenario(scenario, micro_trace()->trace, options).ok());
  std::istringstream lines(table.csv());
  std::string line;
  std::getline(lines, line);
  const QStringList names = to_qstring(line).split(QLatin1Char(','));
  const auto column = [&](const char* name) { return names.indexOf(QString::fromLatin1(name)); };
  Holding out;
  while (std::getline(lines, line)) {
    const QStringList cells = to_qstring(line).split(QLatin1Char(','));
    const QString kind = cells.value(column("kind"));
    const std::int64_t id = cells.value(column("id")).toLongLong();
    if (kind == QStringLiteral("block")) out.held[id] = to_utf8(cells.value(column("holders")));
    if (kind == QStringLiteral("cached")) out.cached.insert(id);
  }
  return out;
}

Holding holders_of(const observe::BlockMoment& moment) {
  Holding out;
  for (std::size_t block = 0; block < moment.blocks().size(); ++block) {
    auto requests = moment.holders(static_cast<std::int32_t>(block));
    std::sort(requests.begin(), requests.end());
    std::string text;
    for (const std::int32_t request : requests) text += (text.empty() ? "" : " ") + std::to_string(request);
    if (!requests.empty()) out.held[static_cast<std::int64_t>(block)] = text;
    if (requests.empty() && moment.blocks()[block].findable)
      out.cached.insert(static_cast<std::int64_t>(block));
  }
  return out;
}

TEST(GuiBlocks, EveryMomentHasTheHoldersOfTheCommandLineInBothDirections) {
  core::RunControl control;
  const auto inspection = inspect_blocks(scenario_of(kSmall), micro_trace()->trace, {}, control).value();
  ASSERT_TRUE(inspection->has_ids);
  ASSERT_EQ(inspection->by_replica.size(), 1U);
  observe::BlockMoment moment(*inspection->by_replica[0]);
  std::mt19937_64 random(20261128);
  int shared = 0, cached = 0;
  for (int i = 0; i < 12; ++i) {
    const std::int64_t ns =
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(ns_floor(Ticks{inspection->end})));
    const std::string text = shortest(static_cast<double>(ns) / kNsPerSecond);
    moment.seek(ticks_from_ns(ns).count);
    const Holding expected = holders_at(text), found = holders_of(moment);
    EXPECT_EQ(found.held, expected.held) << text;
    EXPECT_EQ(found.cached, expected.cached) << text;
    for (const auto& [block, requests] : expected.held)
      shared += requests.find(' ') != std::string::npos ? 1 : 0;
    cached += static_cast<int>(expected.cached.size());
  }
  EXPECT_GT(cached, 0);
  EXPECT_GT(shared, 0) << "the trace has prefixes in common";
}

/// A seek ends where a walk over all changes does, from anywhere.
TEST(GuiBlocks, SeeksAreWalks) {
  core::RunControl control;
  const auto inspection = inspect_blocks(scenario_of({"memory.pool_blocks=3000", "workload.rate_scale=4"}),
                                         micro_trace()->trace, {}, control)
                              .value();
  const observe::BlockHistory& history = *inspection->by_replica[0];
  EXPECT_GT(history.size(), 200'000U) << "several whole pictures are passed";
  observe::BlockMoment jumping(history);
  std::mt19937_64 random(48);
  for (int i = 0; i < 60; ++i) {
    const auto tick = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(inspection->end));
    jumping.seek(tick);
    observe::BlockMoment fresh(history);
    fresh.seek(tick);
    ASSERT_EQ(jumping.blocks(), fresh.blocks());
  }
  jumping.seek(inspection->end);
  for (const observe::BlockState& state : jumping.blocks())
    EXPECT_EQ(state.holders, 0) << "all requests are done";
  const std::int64_t middle = inspection->end / 2;
  EXPECT_GT(history.next_moment(middle), middle);
  EXPECT_LT(history.last_moment(middle), middle);
}

TEST(GuiBlocks, ScrubStepChooseAndFollow) {
  const auto window = make_window();
  window->edit(QStringLiteral("memory.pool_blocks"), QStringLiteral("1500"));
  window->show_view(QStringLiteral("blocks"));
  auto* view = qobject_cast<BlocksView*>(window->current_view());
  ASSERT_NE(view, nullptr);
  ASSERT_TRUE(wait_for([&] { return window->settled() && view->settled() && view->moment() != nullptr; }));
  SelectionModel& selection = window->workspace().selection();
  auto* slider = window->findChild<QSlider*>(QStringLiteral("blocks-time"));
  slider->setFocus();
  slider->setValue(1000);
  ASSERT_TRUE(selection.get().cursor);
  const std::int64_t before = *selection.get().cursor;
  QTest::mouseClick(window->findChild<QPushButton*>(QStringLiteral("blocks-forward")), Qt::LeftButton);
  EXPECT_GT(*selection.get().cursor, before);
  QTest::mouseClick(window->findChild<QPushButton*>(QStringLiteral("blocks-back")), Qt::LeftButton);
  EXPECT_LE(*selection.get().cursor, before);

  // A held block is the colour of its state where it is drawn; a click on it shows its history.
  selection.set_cursor(std::nullopt);  // the peak
  std::size_t held = 0;
  while (view->moment()->blocks()[held].holders == 0) ++held;
  auto* map = window->findChild<BlockMap*>();
  const QPoint at = map->cell(held, map->size()).center();
  EXPECT_EQ(map->grab().toImage().pixelColor(at * map->devicePixelRatioF()), map->colour_of(held));
  QTest::mouseClick(map, Qt::LeftButton, {}, at);
  EXPECT_EQ(selection.get().block, static_cast<std::int64_t>(held));
  QTest::keyClick(map, Qt::Key_Right);
  EXPECT_EQ(selection.get().block, static_cast<std::int64_t>(held) + 1);
  const BlockCounts counts = count_blocks(*view->moment(), 1);
  EXPECT_EQ(counts.held + counts.cached + counts.free, 1499);
  EXPECT_EQ(view->table()->rowCount(), counts.held + counts.cached);
  EXPECT_TRUE(view->value_text().contains(format_number(static_cast<double>(counts.held))));
  EXPECT_TRUE(view->command().contains(QStringLiteral("--holders-at")));
  for (int colours = 0; colours < 4; ++colours) {
    window->findChild<QComboBox*>(QStringLiteral("blocks-colours"))->setCurrentIndex(colours);
    EXPECT_FALSE(view->grab().isNull());
  }
  // Memory without block ids says so.
  window->edit(QStringLiteral("engine"), QStringLiteral("sglang"));
  ASSERT_TRUE(wait_for([&] { return window->settled() && view->settled(); }))
      << to_utf8(window->messages()->text());
  EXPECT_TRUE(view->empty());
  EXPECT_TRUE(view->value_text().contains(QStringLiteral("block ids"))) << to_utf8(view->value_text());
}

TEST(GuiAttention, ShowsWhatEvictPrints) {
  const QString recording = QStringLiteral(KVPLAN_SOURCE_DIR "/traces/samples/tiny_llama.kva");
  const auto window = make_window(false);
  window->open({recording});
  ASSERT_TRUE(wait_for([&] { return window->current_view_id() == QStringLiteral("attention"); }))
      << to_utf8(window->messages()->text());
  auto* view = qobject_cast<AttentionView*>(window->current_view());
  ASSERT_TRUE(wait_for([&] { return view->settled() && view->run() != nullptr; }));
  EXPECT_EQ(view->run()->tracks.size(), kMostPolicies);
  window->findChild<QComboBox*>(QStringLiteral("attention-sequence"))->setCurrentIndex(3);
  window->findChild<QComboBox*>(QStringLiteral("attention-layer"))->setCurrentIndex(2);
  window->findChild<QComboBox*>(QStringLiteral("attention-head"))->setCurrentIndex(5);
  view->set_policies(QStringLiteral("h2o:hh=16,recent=16; tova:budget=32"));
  ASSERT_TRUE(wait_for([&] { return view->settled() && view->run()->choice.head == 5; }));
  const AttentionRun& run = *view->run();
  ASSERT_EQ(run.tracks.size(), 2U);
  EXPECT_EQ(run.choice.prompt, 96);
  for (std::size_t policy = 0; policy < 2; ++policy) {
    const QString command =
        view->command().section(QLatin1Char('\n'), static_cast<int>(policy), static_cast<int>(policy));
    ASSERT_TRUE(command.startsWith(QStringLiteral("kvplan evict")));
    const Ended ended = run_program(QStringLiteral("/bin/sh"),
                                    {QStringLiteral("-c"), QStringLiteral(KVPLAN_PROGRAM_DIR "/") + command});
    ASSERT_EQ(ended.code, 0) << to_utf8(ended.err);
    const QJsonObject printed = QJsonDocument::fromJson(ended.out.toUtf8()).object();
    const QJsonObject summary = printed[QStringLiteral("summary")].toObject();
    const PolicyTrack& track = run.tracks[policy];
    EXPECT_EQ(summary[QStringLiteral("mean_attended_mass")].toDouble(), track.summary.mean_mass);
    EXPECT_EQ(summary[QStringLiteral("bytes")].toInteger(), track.summary.bytes);
    const QJsonArray steps = printed[QStringLiteral("steps")].toArray();
    ASSERT_EQ(steps.size(), static_cast<qsizetype>(track.mass.size()));
    for (qsizetype s = 0; s < steps.size(); ++s) {
      const QJsonObject step = steps[s].toObject();
      const QJsonArray sets = step[QStringLiteral("retained")].toArray();
      // One set for each KV head (two query heads read it), or one for the layer.
      const bool by_head = sets.first().isArray();
      const QJsonArray kept = by_head ? sets[sets.size() == 1 ? 0 : 5 / 2].toArray() : sets;
      std::vector<std::int32_t> expected;
      for (const QJsonValue position : kept) expected.push_back(position.toInt());
      EXPECT_EQ(track.kept[static_cast<std::size_t>(s) + 1], expected) << policy << " " << s;
      EXPECT_EQ(step[QStringLiteral("attended_mass")].toArray()[5].toDouble(),
                track.mass[static_cast<std::size_t>(s)]);
    }
  }
  view->set_step(0);
  EXPECT_TRUE(view->value_text().contains(QStringLiteral("95")));
  view->set_step(7);
  EXPECT_EQ(window->findChild<QSlider*>(QStringLiteral("attention-step"))->value(), 7);
  EXPECT_FALSE(view->grab().isNull());
  // A policy that does not exist is said, and changes nothing.
  view->set_policies(QStringLiteral("h3o"));
  ASSERT_TRUE(wait_for([&] { return !window->messages()->text().isEmpty(); }));
  EXPECT_EQ(view->run()->tracks.size(), 2U);
}

}  // namespace
}  // namespace kvplan::gui
