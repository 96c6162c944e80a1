// The report of a finished run (.kvr): shown as `kvplan run --report` wrote it; no action in the window changes
// it.
#include <gtest/gtest.h>

#include <QAction>
#include <QFile>
#include <QLabel>
#include <QProcess>
#include <QSlider>
#include <QTableView>
#include <QTemporaryDir>
#include <cmath>

#include "gui/view/headline_panel.h"
#include "gui/view/message_bar.h"
#include "gui/view/scenario_panel.h"
#include "gui/view/slider_panel.h"
#include "gui/viewmodel/formatting.h"
#include "gui/viewmodel/headline.h"
#include "gui/viewmodel/recent_files.h"
#include "gui/viewmodel/reported_timeline.h"
#include "gui/views/timeline/timeline_view.h"
#include "tests/gui/support.h"

namespace kvplan::gui {
namespace {

/// The files that `kvplan run` writes for the micro trace.
class GuiReport : public testing::Test {
 protected:
  QString run(const char* name, const QStringList& more) {
    const QString path = folder_.filePath(QString::fromLatin1(name));
    QProcess program;
    program.start(QStringLiteral(KVPLAN_PROGRAM_DIR "/kvplan"),
                  QStringList{QStringLiteral("run"), to_qstring(kMicroTrace), QStringLiteral("--report"),
                              path, QStringLiteral("--set"), QStringLiteral("memory.pool_blocks=2000")} +
                      more);
    EXPECT_TRUE(program.waitForFinished(kPatient));
    EXPECT_EQ(program.exitCode(), 0) << program.readAllStandardError().constData();
    return path;
  }
  QStringList with_timeline(int bins) const {
    return {QStringLiteral("--timeline"), folder_.filePath(QStringLiteral("t.csv")),
            QStringLiteral("--timeline-bins"), QString::number(bins)};
  }
  static runs::RunResult direct(const std::vector<std::string>& sets, std::int64_t bins) {
    runs::RunOptions options;
    options.timeline_bins = bins;
    return runs::run_scenario(scenario_of(sets), micro_trace()->trace, options).value();
  }
  const QTemporaryDir folder_;
};

std::vector<QString> texts(const runs::RunSummary& run) {
  std::vector<QString> out;
  for (const HeadlineRow& row : headline(run)) out.push_back(row.name + QLatin1Char(' ') + row.value);
  return out;
}

/// Checks that the columns are equal up to the rounding of files: whole nanoseconds, means in floating point.
void expect_alike(const TimelineData& file, const TimelineData& run) {
  ASSERT_EQ(file.bins().size(), run.bins().size());
  EXPECT_EQ(file.capacity_bytes(), run.capacity_bytes());
  for (std::size_t i = 0; i < run.bins().size(); ++i) {
    const TimelineColumn& a = file.bins()[i];
    const TimelineColumn& b = run.bins()[i];
    ASSERT_LT(std::abs(a.begin - b.begin), 1024);
    ASSERT_EQ(a.least, b.least);
    ASSERT_EQ(a.greatest, b.greatest);
    for (std::size_t row = 0; row < kTimelineRows; ++row)
      ASSERT_NEAR(a.mean(row), b.mean(row), 1e-9 * (1 + b.mean(row))) << "bin " << i << " row " << row;
  }
}

TEST_F(GuiReport, IsShownAsTheRunWas) {
  const QString path = run("one.kvr", with_timeline(300));
  const auto window = make_window();
  drop(*window, path);
  ASSERT_TRUE(wait_for([&] { return window->shows_report(); }));
  EXPECT_TRUE(window->settled());
  const runs::RunResult run = direct({"memory.pool_blocks=2000"}, 300);
  EXPECT_EQ(texts(window->result()->run), texts(run));
  expect_alike(*window->timeline()->data(), *TimelineData::from(run));
  EXPECT_TRUE(window->windowTitle().contains(QStringLiteral("one.kvr")));
  EXPECT_TRUE(window->messages()->text().contains(QStringLiteral("finished run")));
  EXPECT_EQ(recent_files().front(), path);
  // The scenario is the run's, with where its values came from.
  EXPECT_EQ(window->document().scenario().pool.blocks, 2000);
  EXPECT_TRUE(window->document().is_given("memory.pool_blocks"));
  EXPECT_FALSE(window->document().is_given("engine.max_seqs"));
  EXPECT_TRUE(window->command().contains(QStringLiteral("--set memory.pool_blocks=2000")));
}

TEST_F(GuiReport, IsReadOnlyUntilATraceIsOpened) {
  const QString path = run("one.kvr", with_timeline(300));
  const auto window = make_window();
  window->open({path});
  ASSERT_TRUE(wait_for([&] { return window->shows_report(); }));
  const ResultPtr shown = window->result();
  for (const SliderKind kind : {SliderKind::kLoad, SliderKind::kPool, SliderKind::kBlock})
    EXPECT_FALSE(window->sliders()->slider(kind)->isEnabled());
  EXPECT_FALSE(window->form()->editor(QStringLiteral("engine.max_seqs"))->isEnabled());
  for (const char* name : {"run", "save-session", "save-session-as"})
    EXPECT_FALSE(window->findChild<QAction*>(QString::fromLatin1(name))->isEnabled()) << name;
  apply_language(Language::kChinese);  // rebuilds menus and form
  QApplication::processEvents();
  EXPECT_FALSE(window->form()->editor(QStringLiteral("engine.max_seqs"))->isEnabled());
  EXPECT_FALSE(window->findChild<QAction*>(QStringLiteral("run"))->isEnabled());
  apply_language(Language::kEnglish);
  QApplication::processEvents();
  // Zoom, cursor and table still work.
  const TimeRange whole = window->timeline()->range();
  window->timeline()->zoom(4, whole.length() / 2);
  EXPECT_LT(window->timeline()->range().length(), whole.length());
  window->findChild<QAction*>(QStringLiteral("show-table"))->trigger();
  EXPECT_GT(window->findChild<QTableView*>()->model()->rowCount(), 0);
  EXPECT_EQ(window->result(), shown);

  window->open({to_qstring(kMicroTrace)});
  ASSERT_TRUE(
      wait_for([&] { return !window->shows_report() && window->settled() && window->result() != shown; }));
  EXPECT_TRUE(window->sliders()->slider(SliderKind::kPool)->isEnabled());
  EXPECT_TRUE(window->form()->editor(QStringLiteral("engine.max_seqs"))->isEnabled());
  EXPECT_TRUE(window->findChild<QAction*>(QStringLiteral("run"))->isEnabled());
  EXPECT_EQ(window->document().scenario().pool.blocks, 2000) << "the scenario stays";
  EXPECT_EQ(texts(window->result()->run), texts(shown->run));
}

TEST_F(GuiReport, ReplicasAreSummed) {
  const QString path =
      run("fleet.kvr",
          QStringList{QStringLiteral("--set"), QStringLiteral("fleet.replicas=3")} + with_timeline(200));
  const auto window = make_window(false);
  window->open({path});
  ASSERT_TRUE(wait_for([&] { return window->shows_report(); }));
  const runs::RunResult run = direct({"memory.pool_blocks=2000", "fleet.replicas=3"}, 200);
  expect_alike(*window->timeline()->data(), *TimelineData::from(run));
}

TEST_F(GuiReport, WithoutATimelineTheNumbersAreThereAndTheChartSaysWhy) {
  const QString path = run("bare.kvr", {});
  const auto window = make_window();
  window->open({path});
  ASSERT_TRUE(wait_for([&] { return window->shows_report(); }));
  EXPECT_TRUE(window->timeline()->data()->empty());
  EXPECT_EQ(texts(window->result()->run), texts(direct({"memory.pool_blocks=2000"}, 0)));
  const QPixmap empty = window->timeline()->grab();  // paints
  EXPECT_FALSE(empty.isNull());
}

TEST_F(GuiReport, BadFilesAreOneLineAndChangeNothing) {
  QFile file(run("one.kvr", with_timeline(300)));
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  const QByteArray whole = file.readAll();
  const auto window = make_window();
  const ResultPtr shown = window->result();
  const auto refuse = [&](const QByteArray& bytes, const char* expected) {
    const QString path = folder_.filePath(QStringLiteral("bad.kvr"));
    QFile bad(path);
    ASSERT_TRUE(bad.open(QIODevice::WriteOnly));
    bad.write(bytes);
    bad.close();
    window->messages()->clear();
    window->open({path});
    ASSERT_TRUE(wait_for([&] { return !window->messages()->text().isEmpty(); }));
    const QString text = window->messages()->text();
    EXPECT_TRUE(text.contains(QStringLiteral("bad.kvr"))) << to_utf8(text);
    EXPECT_TRUE(text.contains(QString::fromLatin1(expected))) << to_utf8(text);
    EXPECT_FALSE(text.contains(QLatin1Char('\n')));
    EXPECT_FALSE(window->shows_report());
    EXPECT_EQ(window->result(), shown);
  };
  refuse(whole.left(whole.size() / 2), "truncated");
  QByteArray flipped = whole;
  flipped[whole.size() / 2] = static_cast<char>(flipped[whole.size() / 2] ^ 0x10);
  refuse(flipped, "");
  EXPECT_TRUE(window->sliders()->slider(SliderKind::kPool)->isEnabled());
  // A report can only be opened alone.
  window->messages()->clear();
  window->open({file.fileName(), to_qstring(kMicroTrace)});
  ASSERT_TRUE(wait_for([&] { return !window->messages()->text().isEmpty(); }));
  EXPECT_TRUE(window->messages()->text().contains(QStringLiteral("open it alone")));
  EXPECT_EQ(window->result(), shown);
}

TEST(GuiReportedTimeline, RefusesBinsThatDoNotFit) {
  const auto bin = [](std::int64_t begin, std::int64_t end, std::int64_t greatest = 5) {
    runs::BinNumbers b;
    b.begin_ns = begin;
    b.end_ns = end;
    b.greatest.fill(greatest);
    return b;
  };
  ReportedTimeline good;
  for (const std::int64_t replica : {0, 1})
    for (const std::int64_t begin : {0, 10}) ASSERT_TRUE(good.add(replica, bin(begin, begin + 10)).ok());
  const auto columns = good.take();
  ASSERT_TRUE(columns.ok());
  ASSERT_EQ(columns.value().size(), 2U);
  EXPECT_EQ(columns.value()[1].greatest[0], 10);
  ReportedTimeline other_width;
  ASSERT_TRUE(other_width.add(0, bin(0, 10)).ok());
  EXPECT_FALSE(other_width.add(1, bin(0, 11)).ok());
  ReportedTimeline too_few;
  ASSERT_TRUE(too_few.add(0, bin(0, 10)).ok() && too_few.add(0, bin(10, 20)).ok());
  ASSERT_TRUE(too_few.add(1, bin(0, 10)).ok());
  EXPECT_FALSE(too_few.take().ok());
  ReportedTimeline too_large;
  ASSERT_TRUE(too_large.add(0, bin(0, 10, INT64_MAX)).ok());
  EXPECT_FALSE(too_large.add(1, bin(0, 10, 1)).ok());
}

}  // namespace
}  // namespace kvplan::gui
